use flashlab_drive::ModelledDrive;
use flashlab_spec::*;
use flashlab_target::*;
use flashlab_units::*;
fn cpu() -> f64 { let t = std::fs::read_to_string("/proc/self/schedstat").unwrap(); t.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9 }
fn main() {
    let host = |t: &str, f: &str| HostProfile::parse(t, f).unwrap();
    let hosts = Hosts::new(vec![
        host(include_str!("../../../data/hosts/fio.toml"), "f"),
        host(include_str!("../../../data/hosts/gdsio.toml"), "g"),
        host(include_str!("../../../data/hosts/checkpoint.toml"), "c"),
    ]);
    let mut p = DriveProfile::parse(include_str!("../../../data/drives/j5060-61.toml"), "x").unwrap();
    p.parameters.nand.dies.value = 1024;
    p.parameters.link.generation.value = 5;
    p.parameters.controller.command_time.value = Nanos(290);
    p.parameters.nand.read_time.value = Nanos(60_000);
    let mut d = ModelledDrive::with_units_max(p.clone(), hosts, None, std::env::var("UNITS").map_or(1 << 23, |u| u.parse().unwrap()));
    let cap = d.identity().capacity;
    let job = |rw, bs, q, j| {
        let mut x = Job::new("w", rw, bs, Region { offset: Bytes(0), length: cap });
        (x.iodepth, x.numjobs, x.runtime, x.interval_goal) = (q, j, Some(Nanos::secs(20)), Some(1e-9));
        x
    };
    let mut fill = job(Rw::Write, Bytes::kib(128), 16, 1);
    (fill.runtime, fill.amount) = (None, Some(cap));
    for _ in 0..2 {
        let t = cpu();
        let r = d.run(&fill, &mut Unobserved).unwrap();
        println!("fill {:.3}s {:.1} MB/s  units {}", (cpu() - t), r.bandwidth().unwrap().0 / 1e6, cap.0 / d.scale() / 16384);
    }
    let only: Option<(u32,u32)> = std::env::var("QJ").ok().map(|v| { let (a,b)=v.split_once('/').unwrap(); (a.parse().unwrap(), b.parse().unwrap()) });
    for (q, j) in [(1, 1), (16, 1), (64, 1), (256, 1), (1024, 1), (32, 8), (32, 32), (1, 64)] {
        if only.is_some_and(|o| o != (q, j)) { continue; }
        let mut x = job(Rw::RandRead, Bytes::kib(4), q, j);
        x.runtime = None;
        x.amount = Some(Bytes(std::env::var("N").map_or(6_000_000, |n| n.parse::<u64>().unwrap()) * 4096 * d.scale()));
        let t = cpu();
        let r = d.run(&x, &mut Unobserved).unwrap();
        let s = (cpu() - t);
        println!("read {q}/{j}: {:.2} M/s  ({:.0} ns)  iops {:.0} lat {:.1} p99.9 {:?}", r.ios() as f64 / s / 1e6, s / r.ios() as f64 * 1e9, r.iops().unwrap().0, r.latency().mean_ns().unwrap() / 1e3, r.latency().percentile(99.9).unwrap().value);
    }
    if only.is_some() { return; }
    for (rw, n) in [(Rw::RandWrite, 0), (Rw::RandWrite, 1), (Rw::RandRw, 2)] {
        let mut x = job(rw, Bytes::kib(16), 32, 8);
        x.runtime = None;
        x.rwmixread = 70;
        x.amount = Some(Bytes(8_000_000 * 16384 * d.scale()));
        if n == 0 { x.amount = Some(Bytes(cap.0 / d.scale() / 2 * d.scale())); }
        let t = cpu();
        let r = d.run(&x, &mut Unobserved).unwrap();
        let s = (cpu() - t);
        let h = r.health.unwrap();
        println!("{rw:?}: {} ios {:.2} M/s  iops {:.0} lat {:.1} wa {:.3}", r.ios(), r.ios() as f64 / s / 1e6, r.iops().unwrap().0, r.latency().mean_ns().unwrap() / 1e3, h.media_written.unwrap().0 as f64 / h.host_written.unwrap().0 as f64);
        for c in &r.classes { println!("   {} {} {:?}", c.class, c.ios, c.stages.iter().map(|s| format!("{} {:.1}", s.stage, s.mean_ns / 1e3)).collect::<Vec<_>>()); }
    }
}
