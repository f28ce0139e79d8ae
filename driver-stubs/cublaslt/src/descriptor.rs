//! Descriptors: structs of attributes in storage of the caller or of ours, read and set by number and size.
//! What an attribute means is not known here.

use ghost_abi::{MaybeOut, OutList, Plain};
use ghost_blas::{Error, Ptr};

/// One attribute: its number and where it lies in the struct.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    pub id: i32,
    pub offset: usize,
    pub bytes: usize,
}

/// A descriptor's struct.
///
/// # Safety
/// The type is `repr(C)`, 8-byte aligned, begins with its tag word, and each attribute lies inside it.
pub unsafe trait Described: Plain {
    /// The first word of a live one; 0 where any first word will do.
    const TAG: u64;
    const ATTRIBUTES: &'static [Attribute];

    /// One with every attribute at its default.
    fn fresh() -> Self;
}

/// Declares the attributes of a descriptor: number and field.
macro_rules! attributes {
    ($name:ident, $tag:expr; $($id:literal: $field:ident,)*) => {
        // SAFETY: `record!` makes it `repr(C)`, its first field is the tag's `u64`, and attributes are fields.
        unsafe impl $crate::descriptor::Described for $name {
            const TAG: u64 = $tag;
            const ATTRIBUTES: &'static [$crate::descriptor::Attribute] = &[$($crate::descriptor::Attribute {
                id: $id,
                offset: std::mem::offset_of!($name, $field),
                bytes: $crate::descriptor::width(|it: &$name| &it.$field),
            }),*];

            fn fresh() -> Self {
                $name::default()
            }
        }
    };
}
pub(crate) use attributes;

/// Bytes of a field.
pub const fn width<S, F>(_field: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

/// A descriptor argument: a pointer to storage of the caller (`Init`) or of ours (`Create`).
#[derive(Debug)]
#[repr(transparent)]
pub struct Desc<D>(*mut D);

impl<D> Clone for Desc<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Desc<D> {}

impl<D: Described> Desc<D> {
    /// A new descriptor of ours.
    pub fn create(value: D) -> Desc<D> {
        Desc(Box::into_raw(Box::new(value)))
    }

    /// Makes a descriptor in the caller's storage of `size` bytes.
    pub fn init(self, size: usize, value: D) -> Result<(), Error> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        if size < size_of::<D>() {
            return Err(Error::AllocFailed);
        }
        // SAFETY: not null, and the caller lends at least a `D`.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Ends one that `create` made; null is allowed.
    pub fn destroy(self) -> Result<(), Error> {
        if self.0.is_null() {
            return Ok(());
        }
        self.load()?;
        // SAFETY: live by its tag, and the caller destroys what `create` made, once; the tag goes first, so that a
        // second call finds none as long as the storage is not used again.
        unsafe {
            self.0.cast::<u64>().write(0);
            drop(Box::from_raw(self.0));
        }
        Ok(())
    }

    /// The attributes, once the tag says that they are of this kind.
    pub fn load(self) -> Result<D, Error> {
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, aligned, and every descriptor begins with its tag word.
        let tag = unsafe { self.0.cast::<u64>().read() };
        if D::TAG != 0 && tag != D::TAG {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the tag says that a `D` lives here.
        Ok(unsafe { self.0.read() })
    }

    /// Whether the caller passed none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Sets an attribute from `bytes` bytes at `value`.
    pub fn set(self, id: i32, value: Ptr<u8>, bytes: usize) -> Result<(), Error> {
        self.load()?;
        value.check()?;
        let attribute = find::<D>(id)?;
        if bytes != attribute.bytes {
            return Err(Error::InvalidValue);
        }
        for index in 0..bytes {
            let byte = value.load(index)?;
            // SAFETY: live by its tag, and the attribute lies inside the struct.
            unsafe { self.0.cast::<u8>().add(attribute.offset + index).write(byte) };
        }
        Ok(())
    }

    /// Writes an attribute to `bytes` bytes at `value`; with 0 bytes it only tells the size.
    pub fn get(self, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) -> Result<(), Error> {
        let descriptor = self.load()?;
        let attribute = find::<D>(id)?;
        let place = (&raw const descriptor).cast::<u8>();
        // SAFETY: the attribute is a field of the struct and holds a plain value.
        let source = unsafe { std::slice::from_raw_parts(place.add(attribute.offset), attribute.bytes) };
        answer(source, value, bytes, written)
    }
}

fn find<D: Described>(id: i32) -> Result<&'static Attribute, Error> {
    D::ATTRIBUTES.iter().find(|attribute| attribute.id == id).ok_or(Error::InvalidValue)
}

/// The rule of all attribute getters: 0 bytes ask for the size, else the size must fit exactly.
pub fn answer(source: &[u8], value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) -> Result<(), Error> {
    if bytes == 0 {
        if written.is_null() {
            return Err(Error::InvalidValue);
        }
    } else {
        if bytes != source.len() {
            return Err(Error::InvalidValue);
        }
        value.set(bytes, source.iter().copied())?;
    }
    written.set(source.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors::Layout;
    use ghost_blas::DataType;

    const COLUMNS: i32 = 3;
    const LD: i32 = 4;

    fn set(layout: Desc<Layout>, id: i32, value: &[u8], bytes: usize) -> Result<(), Error> {
        // SAFETY: the bytes outlive the call and are only read.
        layout.set(id, unsafe { Ptr::from_raw(value.as_ptr().cast_mut()) }, bytes)
    }

    fn get(layout: Desc<Layout>, id: i32, bytes: usize) -> (Result<(), Error>, [u8; 8], usize) {
        let (mut value, mut written) = ([0; 8], 0);
        // SAFETY: both variables outlive the call.
        let (to, count) = unsafe { (OutList::from_raw(value.as_mut_ptr()), MaybeOut::from_raw(&raw mut written)) };
        (layout.get(id, to, bytes, count), value, written)
    }

    #[test]
    fn an_attribute_is_set_and_read_by_number_and_exact_size() {
        let layout = Desc::create(Layout::of(DataType::R_16BF, 8, 4, 8));
        assert_eq!(get(layout, COLUMNS, 8), (Ok(()), 4_u64.to_ne_bytes(), 8));
        assert_eq!(set(layout, COLUMNS, &7_u64.to_ne_bytes(), 8), Ok(()));
        assert_eq!(layout.load().map(|it| (it.rows, it.columns, it.ld)), Ok((8, 7, 8)));
        assert_eq!(set(layout, LD, &[0; 8], 4), Err(Error::InvalidValue));
        assert_eq!(set(layout, 99, &[0; 8], 8), Err(Error::InvalidValue));
        assert_eq!(get(layout, COLUMNS, 4).0, Err(Error::InvalidValue));
        assert_eq!(get(layout, COLUMNS, 0), (Ok(()), [0; 8], 8));
        assert_eq!(layout.destroy(), Ok(()));
    }

    #[test]
    fn the_size_is_asked_for_with_somewhere_to_put_it() {
        let layout = Desc::create(Layout::of(DataType::R_32F, 1, 1, 1));
        // SAFETY: null is allowed.
        let (to, count) =
            unsafe { (OutList::from_raw(std::ptr::null_mut()), MaybeOut::from_raw(std::ptr::null_mut())) };
        assert_eq!(layout.get(COLUMNS, to, 0, count), Err(Error::InvalidValue));
        assert_eq!(layout.destroy(), Ok(()));
    }

    #[test]
    fn storage_of_the_caller_is_used_if_it_is_large_enough() {
        let mut storage = [0_u64; 14];
        let layout = Desc::<Layout>(storage.as_mut_ptr().cast());
        assert_eq!(layout.load().err(), Some(Error::InvalidValue));
        assert_eq!(layout.init(64, Layout::of(DataType::R_32F, 1, 1, 1)), Err(Error::AllocFailed));
        assert_eq!(layout.init(112, Layout::of(DataType::R_32F, 3, 1, 3)), Ok(()));
        assert_eq!(layout.load().map(|it| it.rows), Ok(3));
        assert_eq!(
            Desc::<Layout>(std::ptr::null_mut()).init(112, Layout::of(DataType::R_32F, 3, 1, 3)),
            Err(Error::InvalidValue)
        );
    }
}
