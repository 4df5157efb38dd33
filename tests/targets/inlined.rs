// Inlined callers, closures, generics and containers in Rust, std only. The tests look for the lines marked "here".
//
//   wire::decode: 20 boxes of 640 bytes; Table<u64>::grow: a Vec grows; the closure in main: 5 strings of 500 bytes
/// Hides a value's use from the compiler, so that it can neither drop nor merge an allocation.
#[inline(always)]
fn keep<T: ?Sized>(value: &T) {
    unsafe { std::arch::asm!("/* {} */", in(reg) value as *const T as *const u8, options(nostack)) }
}

mod wire {
    use super::keep;

    pub struct Packet {
        _body: [u8; 640],
    }

    #[inline(always)]
    fn allocate(fill: u8) -> Box<Packet> {
        Box::new(Packet { _body: [fill; 640] }) // here: allocate
    }

    #[inline(never)]
    pub fn decode(count: usize, kept: &mut [Option<Box<Packet>>]) {
        for i in 0..count {
            kept[i] = Some(allocate(i as u8)); // here: decode
        }
        keep(kept);
    }
}

struct Table<T> {
    rows: Vec<T>,
}

impl<T: Copy> Table<T> {
    #[inline(never)]
    fn grow(&mut self, row: T, count: usize) {
        for _ in 0..count {
            self.rows.push(row); // here: grow
        }
        keep(&self.rows);
    }
}

#[inline(never)]
fn repeat<F: FnMut(usize)>(times: usize, mut function: F) {
    for i in 0..times {
        function(i); // here: repeat
    }
    keep(&times);
}

fn main() {
    let mut kept: [Option<Box<wire::Packet>>; 20] = Default::default();
    wire::decode(20, &mut kept); // here: main decode
    let mut table = Table { rows: Vec::new() };
    table.grow(7u64, 1000); // here: main grow
    let mut texts = Vec::with_capacity(5);
    repeat(5, |i| {
        texts.push("x".repeat(500 + i)); // here: closure
    });
    keep(&texts);
    std::mem::forget(kept);
    std::mem::forget(table);
}
