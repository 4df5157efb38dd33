// A bump arena in Rust that tells heapscope of its blocks, built by tests/e2e/test_annotations.py with heapscope.rs beside it.
//
//   load    Vecs of 3 x 4000 bytes, dropped at once
//   arena   a slab of 8192 bytes that does not count; 20 blocks of 64 bytes, of which 5 are freed; dropped with the slab
//   paused  a Vec of 50,000 bytes
mod heapscope;

use std::hint::black_box;

struct Arena {
    memory: Vec<u8>,
    used: usize,
}

impl Arena {
    fn new(bytes: usize) -> Arena {
        Arena { memory: heapscope::slab(|| black_box(Vec::with_capacity(bytes))), used: 0 }
    }

    #[inline(never)]
    fn alloc(&mut self, bytes: usize) -> *mut u8 {
        let block = unsafe { self.memory.as_mut_ptr().add(self.used) };
        self.used += bytes;
        heapscope::pool_alloc(self.memory.as_ptr(), block, bytes);
        block
    }
}

#[inline(never)]
fn load() {
    let _phase = heapscope::Phase::new("load");
    for _ in 0..3 {
        black_box(Vec::<u8>::with_capacity(4000));
    }
    heapscope::mark("loaded");
}

#[inline(never)]
fn arena() {
    let _phase = heapscope::Phase::new("arena");
    let mut arena = Arena::new(8192);
    let blocks: [*mut u8; 20] = std::array::from_fn(|_| arena.alloc(64));
    for block in &blocks[..5] {
        heapscope::pool_free(*block);
    }
}

#[inline(never)]
fn paused() {
    heapscope::pause();
    black_box(Vec::<u8>::with_capacity(50_000));
    heapscope::resume();
}

fn main() {
    heapscope::name_thread("Hauptfaden ä");
    load();
    arena();
    paused();
    if heapscope::recording() && std::env::args().count() > 1 {
        println!("recorded");
    }
    println!("done");
}
