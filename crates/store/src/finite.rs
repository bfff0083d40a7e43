//! Finds NaN and infinities in a value before it is kept.
//!
//! JSON has no text for them: serde_json writes `null`, which reads back as "not measured", and
//! SQLite turns NaN into NULL. Either would change a result in silence. This walks a value as serde
//! shows it, so that a float in a field added later is found too. It writes nothing.

use serde::ser::{self, Serialize};
use std::fmt;

/// A float that is no number, and where it is, such as `points[0].metrics[2].value`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NotFinite {
    pub(crate) place: String,
    pub(crate) value: f64,
}

/// Fails at the first NaN or infinity inside `value`.
pub(crate) fn check<T: Serialize>(value: &T) -> Result<(), NotFinite> {
    value.serialize(&mut Walker { place: String::new() })
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.place, self.value)
    }
}

impl std::error::Error for NotFinite {}

impl ser::Error for NotFinite {
    /// A value that refuses to be shown: the text stands for the place.
    fn custom<T: fmt::Display>(message: T) -> Self {
        NotFinite { place: message.to_string(), value: f64::NAN }
    }
}

struct Walker {
    place: String,
}

impl Walker {
    /// Walks `value`, which lies at `part` below the present place.
    fn below<T: Serialize + ?Sized>(&mut self, part: fmt::Arguments<'_>, value: &T) -> Result<(), NotFinite> {
        let length = self.place.len();
        self.place.push_str(&part.to_string());
        value.serialize(&mut *self)?;
        self.place.truncate(length);
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), NotFinite> {
        let dot = if self.place.is_empty() { "" } else { "." };
        self.below(format_args!("{dot}{name}"), value)
    }
}

/// The elements of a list, tuple or map, with the index of the next.
struct Elements<'a> {
    walker: &'a mut Walker,
    next: usize,
}

impl Elements<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
        let index = self.next;
        self.next += 1;
        self.walker.below(format_args!("[{index}]"), value)
    }
}

macro_rules! nothing_to_find {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> Result<(), NotFinite> {
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Walker {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Elements<'a>;
    type SerializeTuple = Elements<'a>;
    type SerializeTupleStruct = Elements<'a>;
    type SerializeTupleVariant = Elements<'a>;
    type SerializeMap = Elements<'a>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    nothing_to_find!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str
    );

    fn serialize_f32(self, value: f32) -> Result<(), NotFinite> {
        self.serialize_f64(f64::from(value))
    }
    fn serialize_f64(self, value: f64) -> Result<(), NotFinite> {
        if value.is_finite() { Ok(()) } else { Err(NotFinite { place: self.place.clone(), value }) }
    }
    fn serialize_unit(self) -> Result<(), NotFinite> {
        Ok(())
    }
    fn serialize_none(self) -> Result<(), NotFinite> {
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotFinite> {
        value.serialize(self)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), NotFinite> {
        Ok(())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), NotFinite> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotFinite> {
        self.field(variant, value)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'a>, NotFinite> {
        Ok(Elements { walker: self, next: 0 })
    }
    fn serialize_tuple(self, _: usize) -> Result<Elements<'a>, NotFinite> {
        Ok(Elements { walker: self, next: 0 })
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'a>, NotFinite> {
        Ok(Elements { walker: self, next: 0 })
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Elements<'a>, NotFinite> {
        Ok(Elements { walker: self, next: 0 })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Elements<'a>, NotFinite> {
        Ok(Elements { walker: self, next: 0 })
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, NotFinite> {
        Ok(self)
    }
    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, NotFinite> {
        Ok(self)
    }
}

macro_rules! walks_elements {
    ($($trait:ident :: $method:ident),*) => {
        $(impl ser::$trait for Elements<'_> {
            type Ok = ();
            type Error = NotFinite;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
                self.element(value)
            }
            fn end(self) -> Result<(), NotFinite> {
                Ok(())
            }
        })*
    };
}
walks_elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

impl ser::SerializeMap for Elements<'_> {
    type Ok = ();
    type Error = NotFinite;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotFinite> {
        key.serialize(&mut *self.walker)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotFinite> {
        self.element(value)
    }
    fn end(self) -> Result<(), NotFinite> {
        Ok(())
    }
}

macro_rules! walks_fields {
    ($($trait:ident),*) => {
        $(impl ser::$trait for &mut Walker {
            type Ok = ();
            type Error = NotFinite;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), NotFinite> {
                self.field(name, value)
            }
            fn end(self) -> Result<(), NotFinite> {
                Ok(())
            }
        })*
    };
}
walks_fields!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Serialize)]
    enum Shape {
        Share(f64),
        Both { low: f64 },
        Pair(u8, f64),
    }

    #[derive(Serialize)]
    struct Inner {
        pair: Option<(f64, f64)>,
        shapes: Vec<Shape>,
    }

    #[derive(Serialize)]
    struct Outer {
        inner: Inner,
        last: f32,
    }

    fn outer(pair: Option<(f64, f64)>, shape: Shape, last: f32) -> Outer {
        Outer { inner: Inner { pair, shapes: vec![Shape::Share(0.5), shape] }, last }
    }

    #[test]
    fn numbers_pass() {
        assert_eq!(check(&outer(None, Shape::Both { low: -0.0 }, f32::MIN)), Ok(()));
        assert_eq!(check(&outer(Some((f64::MAX, f64::MIN_POSITIVE)), Shape::Pair(1, 2.0), 0.0)), Ok(()));
    }

    #[test]
    fn the_place_is_named() {
        let place = |value: &Outer| check(value).expect_err("not finite").place;
        assert_eq!(place(&outer(Some((0.0, f64::NAN)), Shape::Share(0.0), 0.0)), "inner.pair[1]");
        assert_eq!(place(&outer(None, Shape::Share(f64::INFINITY), 0.0)), "inner.shapes[1].Share");
        assert_eq!(place(&outer(None, Shape::Both { low: f64::NEG_INFINITY }, 0.0)), "inner.shapes[1].low");
        assert_eq!(place(&outer(None, Shape::Pair(1, f64::NAN), 0.0)), "inner.shapes[1][1]");
        assert_eq!(place(&outer(None, Shape::Share(0.0), f32::NAN)), "last");
        let map = std::collections::BTreeMap::from([("a", 1.0), ("b", f64::NAN)]);
        assert_eq!(check(&map).expect_err("not finite").place, "[1]");
    }
}
