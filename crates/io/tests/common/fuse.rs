//! A file that fails on demand: a FUSE file system of one file, served by a thread of the test over
//! /dev/fuse (the kernel's protocol, version 7.31, as in linux/fuse.h).

use crate::common::shell;
use flashlab_units::Bytes;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

const ROOT: u64 = 1;
const NODE: u64 = 2;
/// Largest request: 1 MiB of data and its headers.
const REQUEST_MAX: usize = (1 << 20) + 4096;

/// What the file does wrong.
#[derive(Default)]
pub struct Faults {
    /// Requests that touch this byte fail with this error number; 0 for none.
    pub errno: AtomicU64,
    pub at: AtomicU64,
    /// Requests that touch `at` move only this many bytes; 0 for all.
    pub short: AtomicU64,
    /// Requests that touch `at` are not answered while this is set.
    pub stalls: AtomicBool,
}

/// A mounted file, unmounted when dropped.
pub struct FaultyFile {
    pub path: PathBuf,
    pub faults: Arc<Faults>,
    mount: String,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl FaultyFile {
    /// `None`, with the reason printed, where FUSE can't be mounted.
    pub fn new(size: Bytes) -> Option<Self> {
        let folder = crate::common::scratch();
        let mount = folder.path().to_string_lossy().into_owned();
        let device = File::options().read(true).write(true).open("/dev/fuse");
        let device = device.map_err(|e| println!("skipped: no /dev/fuse: {e}")).ok()?;
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other,max_read=1048576\0", device.as_raw_fd());
        let target = format!("{mount}\0");
        // SAFETY: all strings end with a zero byte and live during the call.
        let mounted = unsafe {
            let (source, kind) = (c"flashlab-test".as_ptr(), c"fuse".as_ptr());
            libc::mount(source, target.as_ptr().cast(), kind, libc::MS_NOSUID | libc::MS_NODEV, options.as_ptr().cast())
        };
        if mounted != 0 {
            println!("skipped: FUSE is not mounted: {}", std::io::Error::last_os_error());
            return None;
        }
        let faults = Arc::new(Faults::default());
        let server =
            Server { device, data: vec![0x11; size.0 as usize], faults: Arc::clone(&faults), waiting: Vec::new() };
        let thread = Some(std::thread::spawn(move || server.serve()));
        let path = folder.path().join("file.img");
        Some(FaultyFile { path, faults, mount, thread, _folder: folder })
    }

    /// Ends the connection as a device that is pulled: all requests fail from now on.
    pub fn abort(&self) {
        let number = std::fs::metadata(&self.mount).map(|m| std::os::unix::fs::MetadataExt::dev(&m)).unwrap_or(0);
        let abort = format!("/sys/fs/fuse/connections/{}/abort", libc::minor(number));
        std::fs::write(abort, "1").expect("aborted");
    }

    /// The control files under /sys must be mounted for [`FaultyFile::abort`].
    pub fn can_abort() -> bool {
        let connections = "/sys/fs/fuse/connections";
        let has_entries = || std::fs::read_dir(connections).is_ok_and(|mut entries| entries.next().is_some());
        has_entries() || shell("mount", &["-t", "fusectl", "fusectl", connections]).is_ok()
    }
}

impl Drop for FaultyFile {
    fn drop(&mut self) {
        self.faults.stalls.store(false, Ordering::Relaxed);
        let _ = shell("umount", &["--lazy", &self.mount]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The other end of the mount.
struct Server {
    device: File,
    data: Vec<u8>,
    faults: Arc<Faults>,
    /// Requests that were not answered: unique number, opcode, body.
    waiting: Vec<(u64, u32, Vec<u8>)>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

impl Server {
    fn serve(mut self) {
        let mut buffer = vec![0; REQUEST_MAX];
        loop {
            self.answer_waiting();
            let mut poll = libc::pollfd { fd: self.device.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, which lives during the call.
            let ready = unsafe { libc::poll(&raw mut poll, 1, 10) };
            if ready == 0 {
                continue;
            }
            match self.device.read(&mut buffer) {
                Ok(length) if length >= 40 => {
                    let (opcode, unique) = (u32_at(&buffer, 4), u64_at(&buffer, 8));
                    let (node, body) = (u64_at(&buffer, 16), buffer[40..length].to_vec());
                    self.request(opcode, unique, node, body);
                }
                // Unmounted, or aborted.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ECONNABORTED)) => return,
                Ok(_) | Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn answer_waiting(&mut self) {
        if self.faults.stalls.load(Ordering::Relaxed) {
            return;
        }
        for (unique, opcode, body) in std::mem::take(&mut self.waiting) {
            self.transfer(opcode, unique, &body);
        }
    }

    fn request(&mut self, opcode: u32, unique: u64, node: u64, body: Vec<u8>) {
        match opcode {
            // LOOKUP
            1 => {
                if body.starts_with(b"file.img\0") {
                    let mut entry = vec![0; 40];
                    entry[..8].copy_from_slice(&NODE.to_ne_bytes());
                    entry.extend(self.attributes(NODE));
                    self.reply(unique, 0, &entry);
                } else {
                    self.reply(unique, libc::ENOENT, &[]);
                }
            }
            // GETATTR, SETATTR
            3 | 4 => {
                let mut answer = vec![0; 16];
                answer.extend(self.attributes(node));
                self.reply(unique, 0, &answer);
            }
            // INIT
            26 => {
                let mut answer = vec![0; 64];
                answer[..4].copy_from_slice(&7u32.to_ne_bytes());
                answer[4..8].copy_from_slice(&31u32.to_ne_bytes());
                // Flags: FUSE_ASYNC_READ, FUSE_ASYNC_DIO and FUSE_MAX_PAGES.
                answer[12..16].copy_from_slice(&(1u32 | 1 << 15 | 1 << 22).to_ne_bytes());
                // max_background and congestion_threshold, max_write, time_gran, max_pages.
                answer[16..18].copy_from_slice(&64u16.to_ne_bytes());
                answer[18..20].copy_from_slice(&48u16.to_ne_bytes());
                answer[20..24].copy_from_slice(&(1u32 << 20).to_ne_bytes());
                answer[24..28].copy_from_slice(&1u32.to_ne_bytes());
                answer[28..30].copy_from_slice(&256u16.to_ne_bytes());
                self.reply(unique, 0, &answer);
            }
            // OPEN, OPENDIR: FOPEN_DIRECT_IO
            14 | 27 => {
                let mut answer = vec![0; 16];
                answer[8..12].copy_from_slice(&1u32.to_ne_bytes());
                self.reply(unique, 0, &answer);
            }
            // READ, WRITE
            15 | 16 if self.stalls(&body) => self.waiting.push((unique, opcode, body)),
            15 | 16 => self.transfer(opcode, unique, &body),
            // FORGET, BATCH_FORGET and INTERRUPT have no answer.
            2 | 42 | 36 => {}
            // STATFS
            17 => self.reply(unique, 0, &[0; 80]),
            // RELEASE, FSYNC, FLUSH, RELEASEDIR
            18 | 20 | 25 | 29 => self.reply(unique, 0, &[]),
            _ => self.reply(unique, libc::ENOSYS, &[]),
        }
    }

    /// Offset and length of a read or write.
    fn place(body: &[u8]) -> (usize, usize) {
        (u64_at(body, 8) as usize, u32_at(body, 16) as usize)
    }

    fn touches(&self, body: &[u8]) -> bool {
        let (offset, length) = Self::place(body);
        (offset..offset + length).contains(&(self.faults.at.load(Ordering::Relaxed) as usize))
    }

    fn stalls(&self, body: &[u8]) -> bool {
        self.faults.stalls.load(Ordering::Relaxed) && self.touches(body)
    }

    fn transfer(&mut self, opcode: u32, unique: u64, body: &[u8]) {
        let (offset, mut length) = Self::place(body);
        if self.touches(body) {
            let errno = self.faults.errno.load(Ordering::Relaxed) as i32;
            if errno != 0 {
                return self.reply(unique, errno, &[]);
            }
            let short = self.faults.short.load(Ordering::Relaxed) as usize;
            length = if short > 0 { length.min(short) } else { length };
        }
        let length = length.min(self.data.len().saturating_sub(offset));
        if opcode == 15 {
            let bytes = self.data[offset..offset + length].to_vec();
            self.reply(unique, 0, &bytes);
        } else {
            self.data[offset..offset + length].copy_from_slice(&body[40..40 + length]);
            let mut answer = vec![0; 8];
            answer[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            self.reply(unique, 0, &answer);
        }
    }

    /// `struct fuse_attr`.
    fn attributes(&self, node: u64) -> Vec<u8> {
        let mut attr = vec![0; 88];
        let (size, mode) =
            if node == ROOT { (0, libc::S_IFDIR | 0o755) } else { (self.data.len() as u64, libc::S_IFREG | 0o600) };
        attr[..8].copy_from_slice(&node.to_ne_bytes());
        attr[8..16].copy_from_slice(&size.to_ne_bytes());
        attr[16..24].copy_from_slice(&size.div_ceil(512).to_ne_bytes());
        attr[60..64].copy_from_slice(&mode.to_ne_bytes());
        attr[64..68].copy_from_slice(&1u32.to_ne_bytes());
        attr[80..84].copy_from_slice(&4096u32.to_ne_bytes());
        attr
    }

    fn reply(&mut self, unique: u64, errno: i32, body: &[u8]) {
        let mut answer = Vec::with_capacity(16 + body.len());
        answer.extend((16 + body.len() as u32).to_ne_bytes());
        answer.extend((-errno).to_ne_bytes());
        answer.extend(unique.to_ne_bytes());
        answer.extend(body);
        // A request whose asker is gone has no taker.
        let _ = self.device.write(&answer);
    }
}
