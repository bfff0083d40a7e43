//! Tables of unit numbers, in large pages where the system has them.
//!
//! A random write or read looks up a place anywhere in tens of megabytes. With pages of 4 KiB most such
//! looks miss in the processor's page tables before they miss in its caches, which costs more than all
//! else that the model does for a read.

use memmap2::MmapMut;
use std::alloc::{Layout, handle_alloc_error};

/// Numbers of units, by number of another kind of unit.
pub(super) struct Table(MmapMut);

const SIZE: usize = size_of::<u32>();

impl Table {
    /// `len` times `value`. Like any allocation it ends the program if there is no memory.
    pub(super) fn new(len: usize, value: u32) -> Self {
        let mut table = Self::zeroed(len);
        table.fill(value);
        table
    }

    fn zeroed(len: usize) -> Self {
        // An empty map is refused by some systems.
        let bytes = len.max(1) * SIZE;
        let map = MmapMut::map_anon(bytes).unwrap_or_else(|_| match Layout::array::<u8>(bytes) {
            Ok(layout) => handle_alloc_error(layout),
            Err(error) => unreachable!("a table of {bytes} bytes: {error}"),
        });
        // A wish: without large pages all works, more slowly.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Table(map)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len() / SIZE
    }

    #[inline]
    fn places(&self) -> &[[u8; SIZE]] {
        self.0.as_chunks().0
    }

    #[inline]
    fn places_mut(&mut self) -> &mut [[u8; SIZE]] {
        self.0.as_chunks_mut().0
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> u32 {
        u32::from_ne_bytes(self.places()[place as usize])
    }

    #[inline]
    pub(super) fn set(&mut self, place: u32, value: u32) {
        self.places_mut()[place as usize] = value.to_ne_bytes();
    }

    /// Sets a value and returns the one before.
    #[inline]
    pub(super) fn replace(&mut self, place: u32, value: u32) -> u32 {
        let place = &mut self.places_mut()[place as usize];
        u32::from_ne_bytes(std::mem::replace(place, value.to_ne_bytes()))
    }

    /// The values from `first` on.
    #[inline]
    pub(super) fn run(&self, first: u32, len: u32) -> impl Iterator<Item = u32> {
        self.places()[first as usize..][..len as usize].iter().map(|value| u32::from_ne_bytes(*value))
    }

    /// Sets the values from `first` on.
    #[inline]
    pub(super) fn set_run(&mut self, first: u32, len: u32, values: impl Iterator<Item = u32>) {
        let places = &mut self.places_mut()[first as usize..][..len as usize];
        places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_ne_bytes());
    }

    /// Sets all values.
    pub(super) fn fill(&mut self, value: u32) {
        self.places_mut().fill(value.to_ne_bytes());
    }
}

impl Clone for Table {
    fn clone(&self) -> Self {
        let mut table = Self::zeroed(self.len());
        table.0.copy_from_slice(&self.0);
        table
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.0[..] == other.0[..]
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Table of {}", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_it_was_told_and_a_clone_is_another() {
        let mut table = Table::new(5, 7);
        table.set_run(1, 3, 10..);
        assert_eq!(table.replace(4, 1), 7);
        let before = table.clone();
        table.set(0, 2);
        assert_eq!((table.run(0, 5).collect::<Vec<_>>(), table.len()), (vec![2, 10, 11, 12, 1], 5));
        assert_eq!((before.get(0), before == table), (7, false));
        assert_eq!(Table::new(0, 3), Table::new(0, 3));
    }
}
