//! The names PyTorch 2.15 imports from libcudnn (facts of its symbol tables) against the table.

use crate::TABLE;

/// Imported by libtorch_cuda.
const IMPORTS: &str = "
cudnnBackendCreateDescriptor cudnnBackendDestroyDescriptor cudnnBackendExecute cudnnBackendFinalize
cudnnBackendGetAttribute cudnnBackendSetAttribute cudnnBatchNormalizationBackwardEx
cudnnBatchNormalizationForwardInference cudnnBatchNormalizationForwardTrainingEx cudnnCTCLoss cudnnCTCLoss_v8
cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter cudnnConvolutionBiasActivationForward
cudnnConvolutionForward cudnnCreate cudnnCreateActivationDescriptor cudnnCreateCTCLossDescriptor
cudnnCreateConvolutionDescriptor cudnnCreateDropoutDescriptor cudnnCreateFilterDescriptor cudnnCreatePoolingDescriptor
cudnnCreateRNNDataDescriptor cudnnCreateRNNDescriptor cudnnCreateSpatialTransformerDescriptor
cudnnCreateTensorDescriptor cudnnDestroyActivationDescriptor cudnnDestroyCTCLossDescriptor
cudnnDestroyConvolutionDescriptor cudnnDestroyDropoutDescriptor cudnnDestroyFilterDescriptor
cudnnDestroyRNNDataDescriptor cudnnDestroyRNNDescriptor cudnnDestroySpatialTransformerDescriptor
cudnnDestroyTensorDescriptor cudnnDropoutGetStatesSize cudnnFindConvolutionBackwardDataAlgorithmEx
cudnnFindConvolutionBackwardFilterAlgorithmEx cudnnFindConvolutionForwardAlgorithmEx
cudnnGetBatchNormalizationBackwardExWorkspaceSize cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize
cudnnGetBatchNormalizationTrainingExReserveSpaceSize cudnnGetCTCLossWorkspaceSize cudnnGetCTCLossWorkspaceSize_v8
cudnnGetConvolutionBackwardDataAlgorithm_v7 cudnnGetConvolutionBackwardDataWorkspaceSize
cudnnGetConvolutionBackwardFilterAlgorithm_v7 cudnnGetConvolutionBackwardFilterWorkspaceSize
cudnnGetConvolutionForwardAlgorithm_v7 cudnnGetConvolutionForwardWorkspaceSize cudnnGetCudartVersion
cudnnGetErrorString cudnnGetFilterNdDescriptor cudnnGetLastErrorString cudnnGetProperty cudnnGetRNNTempSpaceSizes
cudnnGetRNNWeightParams cudnnGetRNNWeightSpaceSize cudnnGetStream cudnnGetTensorNdDescriptor cudnnGetVersion
cudnnPoolingForward cudnnRNNBackwardData_v8 cudnnRNNBackwardWeights_v8 cudnnRNNForward cudnnRestoreDropoutDescriptor
cudnnSetActivationDescriptor cudnnSetCTCLossDescriptorEx cudnnSetCTCLossDescriptor_v9 cudnnSetConvolutionGroupCount
cudnnSetConvolutionMathType cudnnSetConvolutionNdDescriptor cudnnSetDropoutDescriptor cudnnSetFilterNdDescriptor
cudnnSetPooling2dDescriptor cudnnSetRNNDataDescriptor cudnnSetRNNDescriptor_v8 cudnnSetSpatialTransformerNdDescriptor
cudnnSetStream cudnnSetTensorNdDescriptor cudnnSpatialTfGridGeneratorBackward cudnnSpatialTfGridGeneratorForward
cudnnSpatialTfSamplerBackward cudnnSpatialTfSamplerForward
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
    assert_eq!((names.len(), count), (239, 239));
}
