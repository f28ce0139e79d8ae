//! The names PyTorch 2.15 imports from libcublasLt (facts of its symbol tables) against the table.

use crate::TABLE;

/// Imported by libtorch_cuda.
const IMPORTS: &str = "
cublasLtGetVersion cublasLtMatmul cublasLtMatmulAlgoCheck cublasLtMatmulAlgoConfigGetAttribute
cublasLtMatmulAlgoConfigSetAttribute cublasLtMatmulAlgoGetHeuristic cublasLtMatmulAlgoInit cublasLtMatmulDescCreate
cublasLtMatmulDescDestroy cublasLtMatmulDescSetAttribute cublasLtMatmulPreferenceCreate
cublasLtMatmulPreferenceDestroy cublasLtMatmulPreferenceSetAttribute cublasLtMatrixLayoutCreate
cublasLtMatrixLayoutDestroy cublasLtMatrixLayoutSetAttribute
";

#[test]
fn every_function_pytorch_imports_is_implemented() {
    for name in IMPORTS.split_whitespace() {
        let row = ghost_abi::find(TABLE, name).unwrap_or_else(|| panic!("{name} is not exported"));
        assert!(row.is_implemented(), "{name}");
    }
}

#[test]
fn no_name_is_exported_twice_and_none_is_lost() {
    let mut names: Vec<_> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), count), (186, 186));
}
