//! Prices of kernels by their real names, and that no name or argument makes one absurd.

use proptest::prelude::*;

use super::*;
use crate::fatbin::Param;
use ghost_model::Profile;
use ghost_model::cost::{State, cost};

/// A mangled name as torch 2.15 has it, offsets and sizes of its parameters, and its family.
type Known = (&'static str, &'static [(u32, u32)], &'static str);

const KERNELS: &[Known] = &[
    (
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELb0EEEviT0_T1_",
        &[(0, 4), (4, 8), (16, 24)],
        "elementwise",
    ),
    (
        "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE8_clEvEUlN3c104HalfEE_EEvS4_RKT_EUliE_EEviT1_",
        &[(0, 4), (8, 536)],
        "elementwise",
    ),
    ("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIdNS0_6MaxOpsIdEEjdLi4ELi4EEEEEvT1_", &[(0, 1064)], "reduce"),
    (
        "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi96ELi64ELi64ELi4ELb0ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi96ELi64ELi64ELi4ES3_EELb0ELb1ELb0ELb0ELb0ELb0ELb0ELb0EEEvNS_16Flash_fwd_paramsE",
        &[(0, 472)],
        "attention",
    ),
    (
        "_ZN13pytorch_flash25flash_bwd_dot_do_o_kernelILb1E23Flash_bwd_kernel_traitsILi128ELi64ELi64ELi8ELi4ELi2ELi2ELb1ELb0EN7cutlass6half_tE19Flash_kernel_traitsILi128ELi64ELi64ELi8ES3_EEEEvNS_16Flash_bwd_paramsE",
        &[(0, 648)],
        "attention",
    ),
    (
        "_Z40fmha_cutlassB_f32_aligned_64x64_k32_sm50N22PyTorchMemEffAttention23AttentionBackwardKernelIN7cutlass4arch4Sm50EfLb1ELb0ELb0ELi64ELi64ELi32ELb0EE6ParamsE",
        &[(0, 480)],
        "attention",
    ),
    (
        "_ZN2at6native50_GLOBAL__N__637ba612_17_ForeachUnaryOp_cu_77fe623d25multi_tensor_apply_kernelINS1_18TensorListMetadataILi1EEENS1_11ZeroFunctorIfLi1ELi1ELi0EEEJEEEvT_T0_DpT1_",
        &[(0, 25_768), (25_768, 1)],
        "tensor lists",
    ),
    (
        "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_10OpaqueTypeILj1EEEjLi1ELi64ELi64EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_",
        &[(0, 8), (8, 3392), (3400, 32), (3432, 4), (3436, 4)],
        "concatenate",
    ),
    (
        "_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6320softmax_warp_forwardIdddLi0ELb0ELb0ELi32EEEvPT0_PKT_iiiPKbib",
        &[(0, 8), (8, 8), (16, 4), (20, 4), (24, 4), (32, 8), (40, 4), (44, 1)],
        "counted",
    ),
    (
        "_ZN2at6native53_GLOBAL__N__4da244e1_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_norm_kernelIddLb0EEEviT0_PKT_S6_S6_PS3_S7_PS4_",
        &[(0, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8), (56, 8)],
        "counted",
    ),
    (
        "_ZN14at_cuda_detail3cub6detail4scan16DeviceScanKernelINS2_10policy_hubIaaajSt4plusIaEE10Policy1000EPKaPaNS0_13ScanTileStateIaLb1EEES6_NS0_8NullTypeEjaLb0ESE_EEvT0_T1_T2_iT3_T4_T5_",
        &[(0, 8), (8, 8), (16, 8), (24, 4), (28, 1), (29, 1), (32, 4)],
        "counted",
    ),
    (
        "_ZN2at6native24vectorized_gather_kernelILi16EiEEvPcS2_PT0_illllb",
        &[(0, 8), (8, 8), (16, 8), (24, 4), (32, 8), (40, 8), (48, 8), (56, 8), (64, 1)],
        "counted",
    ),
    (
        "_ZN2at6native43_GLOBAL__N__1131530d_10_Dropout_cu_0e96ed3820fused_dropout_kernelIddjLi1ELi1EhEEvNS_4cuda6detail10TensorInfoIKT_T1_EENS5_IS6_S8_EENS5_IT4_S8_EES8_T0_NS_15PhiloxCudaStateE",
        &[(0, 216), (216, 216), (432, 216), (648, 4), (656, 8), (664, 32)],
        "counted",
    ),
    ("nvjet_sm100_tst_128x64_64x10_2x4_2cta_h_bz_NNT", &[], "gemm"),
    ("triton_poi_fused_add_mul_relu_0", &[(0, 8), (8, 8), (16, 4)], "generated"),
    ("_Z9my_kernelPfi", &[(0, 8), (8, 4)], "generic"),
];

fn kernel(name: &str, places: &[(u32, u32)]) -> KernelInfo {
    let params = places.iter().map(|&(offset, bytes)| Param { offset, bytes }).collect();
    KernelInfo { name: name.to_owned(), params, ..KernelInfo::default() }
}

fn nanoseconds(operation: &Operation) -> u64 {
    let profile = Profile::named("gb200").unwrap();
    cost(profile, operation, &State::nominal(profile)).ns
}

#[test]
fn each_kernel_belongs_to_its_family() {
    for (name, places, family) in KERNELS {
        assert_eq!(classify(&kernel(name, places)).family(), *family, "{name}");
    }
}

#[test]
fn a_large_addition_takes_its_traffic_over_the_bandwidth() {
    let (name, places, _) = KERNELS[0];
    let mut params = vec![0; 40];
    let count = 256 << 20;
    params[..4].copy_from_slice(&i32::to_le_bytes(count));
    let geometry = Geometry { grid: [count as u32 / 1024, 1, 1], block: [128, 1, 1], shared_bytes: 0 };
    let ns = nanoseconds(&operation(&classify(&kernel(name, places)), &geometry, &params));
    // 3 GiB at 6 to 8 TB/s.
    assert!((400_000..560_000).contains(&ns), "{ns}");
}

#[test]
fn a_row_reads_its_counts_from_parameters_and_grid() {
    let (name, places, _) = KERNELS[9];
    let mut params = vec![0; 64];
    params[..4].copy_from_slice(&i32::to_le_bytes(4096));
    let geometry = Geometry { grid: [512, 1, 1], block: [32, 4, 1], shared_bytes: 0 };
    let Operation::Kernel(priced) = operation(&classify(&kernel(name, places)), &geometry, &params) else { panic!() };
    assert_eq!((priced.bytes_read, priced.bytes_written), (512 * 4096 * 8, 512 * 4096 * 8));
    assert_eq!((priced.grid_blocks, priced.threads_per_block), (512, 128));
}

#[test]
fn an_unknown_kernel_costs_little_more_than_a_launch() {
    let class = classify(&kernel("_Z9my_kernelPfi", &[]));
    let one = Geometry { grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0 };
    assert!((1_000..4_000).contains(&nanoseconds(&operation(&class, &one, &[]))));
    let full = Geometry { grid: [152, 1, 1], block: [256, 1, 1], shared_bytes: 0 };
    assert!((1_000..6_000).contains(&nanoseconds(&operation(&class, &full, &[]))));
}

proptest! {
    #[test]
    fn no_launch_panics_or_takes_for_ever(
        which in 0..KERNELS.len(),
        grid in [1_u32..4096, 0_u32..64, 0_u32..64],
        block in [0_u32..1025, 0_u32..4, 0_u32..4],
        params in prop::collection::vec(any::<u8>(), 0..800),
        mask in prop::sample::select(vec![255_u8, 1, 0]),
    ) {
        let (name, places, _) = KERNELS[which];
        let geometry = Geometry { grid, block, shared_bytes: 0 };
        let params: Vec<u8> = params.iter().map(|byte| byte & mask).collect();
        let operation = operation(&classify(&kernel(name, places)), &geometry, &params);
        match operation {
            Operation::Kernel(_) => prop_assert!(nanoseconds(&operation) < 1_000_000_000),
            _ => { nanoseconds(&operation); }
        }
    }

    #[test]
    fn no_name_panics(name in "(_ZN?)?([0-9]{1,3}|[A-Za-z_]{1,20}|I|E|S[0-9]?_|Li[0-9]E|vectorized_elementwise_kernel|18TensorListMetadataILi[0-9]|8ReduceOpI|GemmShapeILi){0,12}") {
        classify(&kernel(&name, &[(0, 4), (8, 24)]));
    }
}
