//! heapscope.h for Rust: what a program can tell the heap profiler heapscope about itself. Copy this file into your sources
//! (`mod heapscope;`); what the functions mean stands in heapscope.h and in docs/annotations.md.
//!
//! Nothing is to be linked: each function is looked for once, among those of the recorder that `heapscope run` brings along. Where
//! it is not there, a call is a load and a branch. This file is in the public domain (CC0).
#![allow(dead_code)]

use std::mem::transmute;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

// What the recorder exports, as C sees it. (Rust has no weak functions yet, so these cannot be declared as such.)
//
//     void heapscope_v1_pool_alloc(const void *slab, const void *block, size_t bytes);
//     void heapscope_v1_pool_realloc(const void *slab, const void *old_block, const void *block, size_t bytes);
//     void heapscope_v1_pool_free(const void *block);
//     void heapscope_v1_pool_reset(const void *slab);
//     void heapscope_v1_slab_begin(void);
//     void heapscope_v1_slab_end(void);
//     void heapscope_v1_phase_begin(const char *name, size_t name_bytes);
//     void heapscope_v1_phase_end(const char *name, size_t name_bytes);
//     void heapscope_v1_mark(const char *name, size_t name_bytes);
//     void heapscope_v1_name_thread(const char *name, size_t name_bytes);
//     void heapscope_v1_pause(void);
//     void heapscope_v1_resume(void);
//     int heapscope_v1_recording(void);
type Alloc = unsafe extern "C" fn(*const c_void, *const c_void, usize);
type Realloc = unsafe extern "C" fn(*const c_void, *const c_void, *const c_void, usize);
type Address = unsafe extern "C" fn(*const c_void);
type Name = unsafe extern "C" fn(*const c_char, usize);
type Plain = unsafe extern "C" fn();
type Question = unsafe extern "C" fn() -> c_int;

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void; // null: among all libraries of the process
}

const UNKNOWN: usize = 1;

#[cold]
fn look_for(name: &'static [u8], found: &AtomicUsize) -> usize {
    let address = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr().cast()) } as usize;
    found.store(address, Ordering::Relaxed);
    address
}

macro_rules! find {
    ($name:literal as $kind:ty) => {{
        static FOUND: AtomicUsize = AtomicUsize::new(UNKNOWN);
        let mut address = FOUND.load(Ordering::Relaxed);
        if address == UNKNOWN {
            address = look_for(concat!("heapscope_v1_", $name, "\0").as_bytes(), &FOUND);
        }
        if address == 0 {
            None
        } else {
            Some(unsafe { transmute::<usize, $kind>(address) })
        }
    }};
}

/// A pool has given out a block. `slab`: the start of the memory that it is carved from, or null.
#[inline]
pub fn pool_alloc<S, B>(slab: *const S, block: *const B, bytes: usize) {
    if let Some(call) = find!("pool_alloc" as Alloc) {
        unsafe { call(slab.cast(), block.cast(), bytes) }
    }
}

/// A pool has given a block another size, and perhaps another place.
#[inline]
pub fn pool_realloc<S, B>(slab: *const S, old: *const B, block: *const B, bytes: usize) {
    if let Some(call) = find!("pool_realloc" as Realloc) {
        unsafe { call(slab.cast(), old.cast(), block.cast(), bytes) }
    }
}

#[inline]
pub fn pool_free<B>(block: *const B) {
    if let Some(call) = find!("pool_free" as Address) {
        unsafe { call(block.cast()) }
    }
}

/// All blocks of a slab are free again.
#[inline]
pub fn pool_reset<S>(slab: *const S) {
    if let Some(call) = find!("pool_reset" as Address) {
        unsafe { call(slab.cast()) }
    }
}

/// Runs `allocate`: what this thread allocates in it is memory of a pool, which does not count.
#[inline]
pub fn slab<T>(allocate: impl FnOnce() -> T) -> T {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if let Some(call) = find!("slab_end" as Plain) {
                unsafe { call() }
            }
        }
    }
    if let Some(call) = find!("slab_begin" as Plain) {
        unsafe { call() }
    }
    let _end = End;
    allocate()
}

#[inline]
pub fn phase_begin(name: &str) {
    if let Some(call) = find!("phase_begin" as Name) {
        unsafe { call(name.as_ptr().cast(), name.len()) }
    }
}

#[inline]
pub fn phase_end(name: &str) {
    if let Some(call) = find!("phase_end" as Name) {
        unsafe { call(name.as_ptr().cast(), name.len()) }
    }
}

/// A phase for as long as the value lives: `let _phase = heapscope::Phase::new("load");`
pub struct Phase<'a>(&'a str);

impl<'a> Phase<'a> {
    #[inline]
    pub fn new(name: &'a str) -> Self {
        phase_begin(name);
        Phase(name)
    }
}

impl Drop for Phase<'_> {
    #[inline]
    fn drop(&mut self) {
        phase_end(self.0);
    }
}

/// A moment.
#[inline]
pub fn mark(name: &str) {
    if let Some(call) = find!("mark" as Name) {
        unsafe { call(name.as_ptr().cast(), name.len()) }
    }
}

/// What reports call this thread.
#[inline]
pub fn name_thread(name: &str) {
    if let Some(call) = find!("name_thread" as Name) {
        unsafe { call(name.as_ptr().cast(), name.len()) }
    }
}

/// Allocations are not recorded until `resume`.
#[inline]
pub fn pause() {
    if let Some(call) = find!("pause" as Plain) {
        unsafe { call() }
    }
}

#[inline]
pub fn resume() {
    if let Some(call) = find!("resume" as Plain) {
        unsafe { call() }
    }
}

/// Whether this process is being recorded, paused or not.
#[inline]
pub fn recording() -> bool {
    match find!("recording" as Question) {
        Some(call) => unsafe { call() != 0 },
        None => false,
    }
}
