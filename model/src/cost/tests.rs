//! Costs that must hold whatever the fit: ranges, orders, and that worse machines are slower.

use proptest::prelude::*;

use super::*;

fn gb200() -> &'static Profile {
    Profile::named("gb200").unwrap()
}

fn nominal(operation: Operation) -> Cost {
    cost(gb200(), &operation, &State::nominal(gb200()))
}

fn gemm(m: u64, n: u64, k: u64, dtype: DType) -> Operation {
    Operation::Gemm(Gemm { m, n, k, batch: 1, a_type: dtype, compute: dtype })
}

fn elementwise(bytes: u64) -> Operation {
    Operation::Kernel(Kernel {
        bytes_read: bytes,
        bytes_written: bytes,
        flops: bytes / 2,
        dtype: DType::Fp32,
        grid_blocks: (bytes / 4096).max(1),
        threads_per_block: 256,
        blocks_per_sm: 8,
    })
}

fn copy(bytes: u64, direction: CopyDirection, host: HostMemory) -> Operation {
    Operation::Copy(Copy { bytes, direction, host })
}

fn petaflops(operation: Operation) -> f64 {
    let cost = nominal(operation);
    cost.tensor_flops as f64 / cost.ns as f64 / 1e6
}

#[test]
fn a_product_of_8192_cubed_runs_at_one_and_a_half_to_1_7_petaflops() {
    let rate = petaflops(gemm(8192, 8192, 8192, DType::Bf16));
    assert!((1.5..1.7).contains(&rate), "{rate}");
    assert_eq!(nominal(gemm(8192, 8192, 8192, DType::Bf16)).sm_share_milli, 1000);
}

#[test]
fn types_run_in_the_order_of_their_peaks() {
    let ns = |dtype| nominal(gemm(8192, 8192, 8192, dtype)).ns;
    assert_eq!(ns(DType::Fp16), ns(DType::Bf16));
    let order = [DType::Fp4, DType::Fp8, DType::Bf16, DType::Tf32, DType::Fp32, DType::Fp64];
    assert!(order.windows(2).all(|pair| ns(pair[0]) < ns(pair[1])));
    let fp8 = petaflops(gemm(8192, 8192, 8192, DType::Fp8));
    assert!((2.6..3.1).contains(&fp8), "measured 2.88 (docs/timing.md): {fp8}");
    let fp32 = petaflops(gemm(8192, 8192, 8192, DType::Fp32));
    assert!((0.04..0.07).contains(&fp32), "{fp32}");
}

#[test]
fn one_row_streams_its_weights() {
    let cost = nominal(gemm(1, 16384, 16384, DType::Bf16));
    let terabytes_per_second = cost.hbm_bytes as f64 / cost.ns as f64 / 1e3;
    assert!((5.0..7.5).contains(&terabytes_per_second), "{terabytes_per_second}");
}

#[test]
fn the_smallest_product_costs_its_floor() {
    assert!((1_900..3_000).contains(&nominal(gemm(16, 16, 16, DType::Bf16)).ns));
}

#[test]
fn a_large_elementwise_kernel_reaches_86_percent_of_the_bandwidth() {
    let cost = nominal(elementwise(4 << 30));
    let share = cost.hbm_bytes as f64 / cost.ns as f64 / 8e3;
    assert!((0.85..0.87).contains(&share), "{share}");
}

#[test]
fn what_fits_l2_does_not_reach_memory() {
    assert_eq!(nominal(elementwise(8 << 20)).hbm_bytes, 0);
    assert_eq!(nominal(elementwise(1 << 30)).hbm_bytes, 2 << 30);
}

#[test]
fn an_empty_kernel_costs_the_launch_floor_and_a_sliver_of_the_sms() {
    let cost = nominal(elementwise(0));
    assert_eq!(cost.ns, gb200().cost.launch_floor_ns);
    assert!(cost.sm_share_milli < 10);
}

#[test]
fn copies_run_at_the_measured_rates() {
    let rate = |direction, host| {
        let bytes = 8_u64 << 30;
        bytes as f64 / nominal(copy(bytes, direction, host)).ns as f64
    };
    assert!((200.0..201.1).contains(&rate(CopyDirection::HostToDevice, HostMemory::Pinned)));
    assert!((192.0..193.1).contains(&rate(CopyDirection::DeviceToHost, HostMemory::Pinned)));
    assert!((760.0..766.0).contains(&rate(CopyDirection::PeerToPeer, HostMemory::Pinned)));
    assert!(rate(CopyDirection::HostToDevice, HostMemory::Pageable) < 100.0);
}

#[test]
fn long_attention_runs_at_the_measured_rate() {
    let attention = |seq, backward| {
        let size = Attention {
            batch: 2,
            heads: 32,
            seq_q: seq,
            seq_k: seq,
            head_dim: 128,
            causal: true,
            dtype: DType::Bf16,
            backward,
        };
        Operation::Attention(size)
    };
    let rate = petaflops(attention(8192, false));
    assert!((1.15..1.4).contains(&rate), "measured 1.05 to 1.47 (attention.csv): {rate}");
    assert!(nominal(attention(8192, true)).ns > 2 * nominal(attention(8192, false)).ns);
}

#[test]
fn a_throttled_gpu_is_slower_at_arithmetic_and_not_at_streaming() {
    let throttled = State { sm_clock_mhz: 1031, ..State::nominal(gb200()) };
    let slower = |operation: Operation| {
        let (fast, slow) = (nominal(operation), cost(gb200(), &operation, &throttled));
        slow.ns as f64 / fast.ns as f64
    };
    assert!((1.8..2.05).contains(&slower(gemm(8192, 8192, 8192, DType::Bf16))));
    assert!(slower(elementwise(1 << 30)) < 1.05);
}

#[test]
fn a_power_limit_slows_what_would_exceed_it() {
    let limited = |watts: u32| State { power_limit_milliwatts: watts * 1000, ..State::nominal(gb200()) };
    let ns = |operation, watts| cost(gb200(), &operation, &limited(watts)).ns;
    let big = gemm(8192, 8192, 8192, DType::Bf16);
    assert!(ns(big, 400) > ns(big, 600) && ns(big, 600) > ns(big, 1200));
    assert_eq!(ns(elementwise(1 << 20), 600), ns(elementwise(1 << 20), 1200));
}

#[test]
fn a_gpu_with_fewer_links_is_slower_to_its_peers() {
    let degraded = |links_up| State { links_up, ..State::nominal(gb200()) };
    let all_reduce = Operation::Collective(Collective { bytes: 1 << 30, ranks: 8, kind: CollectiveKind::AllReduce });
    for operation in [copy(1 << 30, CopyDirection::PeerToPeer, HostMemory::Pinned), all_reduce] {
        let ns = |links| cost(gb200(), &operation, &degraded(links)).ns;
        assert!(ns(18) < ns(17) && ns(17) < ns(9) && ns(9) < ns(1) && ns(0) > ns(9));
    }
}

#[test]
fn an_all_reduce_of_512_mb_reaches_the_measured_bus_bandwidth() {
    let cost =
        nominal(Operation::Collective(Collective { bytes: 512_000_000, ranks: 8, kind: CollectiveKind::AllReduce }));
    let bus = 512e6 * 2.0 * 7.0 / 8.0 / cost.ns as f64;
    assert!((640.0..790.0).contains(&bus), "measured 715 GB/s (docs/timing.md): {bus}");
}

#[test]
fn an_operation_reads_back_from_its_json() {
    let json = r#"{"operation":"gemm","m":1,"n":2,"k":3,"batch":1,"a_type":"bf16","compute":"fp32"}"#;
    let operation: Operation = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&operation).unwrap(), json);
}

fn any_dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.to_vec())
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let size = prop_oneof![0..70_000_u64, any::<u64>()];
    let sizes = [size.clone(), size.clone(), size.clone(), size.clone(), size];
    (sizes, any_dtype(), any_dtype(), any::<bool>(), any::<bool>(), 0..6_u8, any::<u32>(), any::<u32>()).prop_map(
        |([a, b, c, d, e], one, two, yes, no, which, small, other)| match which {
            0 => Operation::Gemm(Gemm { m: a, n: b, k: c, batch: d, a_type: one, compute: two }),
            1 => Operation::Kernel(Kernel {
                bytes_read: a,
                bytes_written: b,
                flops: c,
                dtype: one,
                grid_blocks: d,
                threads_per_block: small,
                blocks_per_sm: other,
            }),
            2 => Operation::Attention(Attention {
                batch: a,
                heads: b,
                seq_q: c,
                seq_k: d,
                head_dim: e,
                causal: yes,
                dtype: one,
                backward: no,
            }),
            3 => copy(a, CopyDirection::PeerToPeer, HostMemory::Pageable),
            4 => Operation::Memset(Memset { bytes: a }),
            _ => Operation::Collective(Collective { bytes: a, ranks: small, kind: CollectiveKind::AllToAll }),
        },
    )
}

proptest! {
    #[test]
    fn no_operation_is_free_or_panics_in_any_state(
        operation in any_operation(),
        sm_clock_mhz: u32,
        links_up: u8,
        power_limit_milliwatts: u32,
    ) {
        let cost = cost(gb200(), &operation, &State { sm_clock_mhz, links_up, power_limit_milliwatts });
        prop_assert!(cost.ns > 0 && cost.sm_share_milli <= 1000);
    }

    #[test]
    fn more_bytes_never_take_less_time(bytes in 0..(1_u64 << 36), more in 0..(1_u64 << 34)) {
        for direction in [CopyDirection::HostToDevice, CopyDirection::DeviceToDevice, CopyDirection::PeerToPeer] {
            let ns = |bytes| nominal(copy(bytes, direction, HostMemory::Pinned)).ns;
            prop_assert!(ns(bytes) <= ns(bytes + more));
        }
        let ns = |bytes| nominal(Operation::Memset(Memset { bytes })).ns;
        prop_assert!(ns(bytes) <= ns(bytes + more));
        let ns = |bytes| nominal(Operation::Kernel(Kernel {
            bytes_read: bytes,
            bytes_written: 0,
            flops: 0,
            dtype: DType::Fp32,
            grid_blocks: 4096,
            threads_per_block: 256,
            blocks_per_sm: 0,
        })).ns;
        prop_assert!(ns(bytes) <= ns(bytes + more));
        let ns = |bytes| nominal(Operation::Collective(Collective { bytes, ranks: 8, kind: CollectiveKind::AllReduce })).ns;
        prop_assert!(ns(bytes) <= ns(bytes + more));
    }

    #[test]
    fn a_deeper_product_never_takes_less_time(m in 1..9000_u64, n in 1..9000_u64, k in 1..9000_u64, more in 0..9000_u64) {
        let ns = |k| nominal(gemm(m, n, k, DType::Bf16)).ns;
        prop_assert!(ns(k) <= ns(k + more));
    }

    #[test]
    fn a_slower_clock_or_a_lower_limit_never_shortens(operation in any_operation(), mhz in 120..2062_u32, watts in 200..1200_u32) {
        let fast = nominal(operation);
        let slow = State { sm_clock_mhz: mhz, ..State::nominal(gb200()) };
        prop_assert!(cost(gb200(), &operation, &slow).ns >= fast.ns);
        let limited = State { power_limit_milliwatts: watts * 1000, ..State::nominal(gb200()) };
        prop_assert!(cost(gb200(), &operation, &limited).ns >= fast.ns);
    }
}
