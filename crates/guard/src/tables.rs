//! Reads the kernel's tables of mounts and swap areas. Text in, values out.

use crate::DeviceNumber;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One line of `mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountLine {
    pub(crate) id: u64,
    /// Device number of files on it. Not always a block device: btrfs, for one, makes one up.
    pub(crate) device: DeviceNumber,
    pub(crate) mount_point: PathBuf,
    pub(crate) read_only: bool,
    pub(crate) fs_type: String,
    pub(crate) source: OsString,
}

/// Parses `/proc/self/mountinfo`. `Err` holds the line that is not understood: a line that was
/// skipped could be the mount that matters.
pub(crate) fn mounts(text: &[u8]) -> Result<Vec<MountLine>, String> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| mount(line).ok_or_else(|| String::from_utf8_lossy(line).into_owned()))
        .collect()
}

/// `36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue`; the number of
/// fields before the lone hyphen varies. The source may be empty.
fn mount(line: &[u8]) -> Option<MountLine> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let hyphen = 6 + fields.get(6..)?.iter().position(|field| *field == b"-")?;
    Some(MountLine {
        id: number(fields.first()?)?,
        device: device_number(fields.get(2)?)?,
        mount_point: PathBuf::from(unescape(fields.get(4)?)),
        read_only: fields.get(5)?.split(|byte| *byte == b',').any(|option| option == b"ro"),
        fs_type: String::from_utf8_lossy(fields.get(hyphen + 1)?).into_owned(),
        source: unescape(fields.get(hyphen + 2)?),
    })
}

/// Parses `/proc/swaps` into the names of the swap areas: a title line, then one area a line.
pub(crate) fn swaps(text: &[u8]) -> Vec<PathBuf> {
    text.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| line.split(|byte| byte.is_ascii_whitespace()).next())
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(unescape(name)))
        .collect()
}

/// `8:16` as the kernel writes device numbers.
pub(crate) fn device_number(text: &[u8]) -> Option<DeviceNumber> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let major = u32::try_from(number(&text[..colon])?).ok()?;
    let minor = u32::try_from(number(&text[colon + 1..])?).ok()?;
    Some(DeviceNumber { major, minor })
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Undoes the kernel's `\040` for blanks and the like.
fn unescape(field: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        out.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &rest[4..] } else { after };
    }
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn at(major: u32, minor: u32) -> DeviceNumber {
        DeviceNumber { major, minor }
    }

    #[test]
    fn mountinfo_with_any_number_of_optional_fields() {
        let text = b"23 27 0:22 / /sys rw,relatime - sysfs sysfs rw\n\
            36 35 7:0 /root /mnt/a ro,noatime master:1 shared:7 - ext4 /dev/loop0 rw,errors=continue\n";
        let mounts = mounts(text).expect("both lines are well formed");
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].device, at(0, 22));
        assert!(!mounts[0].read_only);
        assert_eq!(
            mounts[1],
            MountLine {
                id: 36,
                device: at(7, 0),
                mount_point: PathBuf::from("/mnt/a"),
                read_only: true,
                fs_type: "ext4".to_owned(),
                source: "/dev/loop0".into(),
            }
        );
    }

    #[test]
    fn blanks_and_backslashes_in_mount_points_are_undone() {
        let text = br"36 35 8:1 / /mnt/my\040disk\134x\011y rw - vfat /dev/sda1 rw";
        assert_eq!(mounts(text).expect("well formed")[0].mount_point, Path::new("/mnt/my disk\\x\ty"));
        // No octal digits follow: a backslash as such.
        assert_eq!(unescape(br"a\9b\04"), OsString::from(r"a\9b\04"));
    }

    #[test]
    fn an_empty_source_is_a_source() {
        let mounts = mounts(b"40 35 0:50 / /mnt rw - tmpfs  rw").expect("well formed");
        assert_eq!(mounts[0].source, OsString::new());
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error_not_a_gap() {
        for bad in ["36 35 8:1 / /mnt rw ext4 /dev/sda1 rw", "36 35 8-1 / /mnt rw - ext4 /dev/sda1 rw", "x", "1 2"] {
            let text = format!("23 27 0:22 / /sys rw - sysfs sysfs rw\n{bad}\n");
            assert_eq!(mounts(text.as_bytes()), Err(bad.to_owned()));
        }
    }

    #[test]
    fn swap_areas_without_the_title_line() {
        let text = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/sda2                               partition\t1998844\t\t0\t\t-2\n\
            /my\\040swap\\040(deleted)              file\t\t4\t\t0\t\t-3\n";
        assert_eq!(swaps(text), [PathBuf::from("/dev/sda2"), PathBuf::from("/my swap (deleted)")]);
        assert_eq!(swaps(b"Filename\tType\tSize\tUsed\tPriority\n"), Vec::<PathBuf>::new());
        assert_eq!(swaps(b""), Vec::<PathBuf>::new());
    }
}
