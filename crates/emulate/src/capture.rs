//! A capture at the router. A separate thread writes it: the packet loop hands over blocks and
//! never waits.

use crate::frame::Layer;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use penstock_units::Time;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration as Wall;

/// The size of a block in bytes, and the largest number of blocks on their way.
const BLOCK: usize = 1 << 20;
const BLOCKS: usize = 32;

/// The packet loop's end of a capture.
pub struct Recorder {
    block: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    lost: u64,
}

/// The writing thread's end of a capture.
pub struct Writer(JoinHandle<io::Result<()>>);

impl Writer {
    /// Waits until everything is written.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(self) -> io::Result<()> {
        self.0.join().unwrap_or_else(|_| Err(io::Error::other("the capture's thread panicked")))
    }
}

/// Returns why the file took no more.
fn failed(e: PcapError) -> io::Error {
    match e {
        PcapError::IoError(e) => e,
        other => io::Error::other(other),
    }
}

/// Begins a capture into a file.
pub fn start(file: File, layer: Layer) -> io::Result<(Recorder, Writer)> {
    let (full, blocks) = sync_channel::<Vec<u8>>(BLOCKS);
    let (back, empty) = sync_channel::<Vec<u8>>(BLOCKS + 2);
    for _ in 0..BLOCKS {
        back.try_send(Vec::with_capacity(BLOCK)).map_err(io::Error::other)?;
    }
    let header = PcapHeader {
        datalink: if layer == Layer::Ethernet { DataLink::ETHERNET } else { DataLink::RAW },
        ts_resolution: TsResolution::NanoSecond,
        endianness: Endianness::native(),
        ..PcapHeader::default()
    };
    let written = std::thread::spawn(move || {
        let mut writer = PcapWriter::with_header(BufWriter::new(file), header).map_err(failed)?;
        for mut block in blocks {
            let mut rest = &block[..];
            while let Some((head, tail)) = rest.split_at_checked(12) {
                let t = u64::from_le_bytes(head[..8].try_into().map_err(io::Error::other)?);
                let length =
                    u32::from_le_bytes(head[8..].try_into().map_err(io::Error::other)?) as usize;
                let (frame, tail) = tail.split_at(length);
                let packet = PcapPacket::new(Wall::from_nanos(t), length as u32, frame);
                writer.write_packet(&packet).map_err(failed)?;
                rest = tail;
            }
            block.clear();
            let _ = back.try_send(block);
        }
        let mut file = writer.into_writer();
        file.flush()?;
        file.get_ref().sync_all()
    });
    let recorder = Recorder { block: Vec::with_capacity(BLOCK), full, empty, lost: 0 };
    Ok((recorder, Writer(written)))
}

impl Recorder {
    /// Records a frame that passes at `now`.
    pub fn frame(&mut self, now: Time, frame: &[u8]) {
        if self.block.len() + 12 + frame.len() > BLOCK {
            let Ok(next) = self.empty.try_recv() else {
                self.lost += 1; // the disk is behind
                return;
            };
            let full = std::mem::replace(&mut self.block, next);
            if let Err(TrySendError::Full(block) | TrySendError::Disconnected(block)) =
                self.full.try_send(full)
            {
                self.lost += 1;
                self.block = block;
                self.block.clear();
            }
        }
        self.block.extend_from_slice(&now.as_nanos().to_le_bytes());
        self.block.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        self.block.extend_from_slice(frame);
    }

    /// Hands over the rest. Returns how many frames are missing in the file.
    pub fn finish(self) -> u64 {
        let _ = self.full.send(self.block);
        self.lost
    }
}
