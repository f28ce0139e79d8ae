//! What is exported and not implemented: each answers "operation not supported" and is counted.
//! No signature is given here; a function that gets a handler moves to its subject's file.

use crate::Cudart;
use crate::types::*;
use ghost_abi::record;

record! {
    /// `cudaChannelFormatDesc`: bits per component and their kind.
    pub struct ChannelFormat: 20 bytes { pub x: i32, pub y: i32, pub z: i32, pub w: i32, pub kind: i32 }
}

impl ghost_abi::Blank for ChannelFormat {
    const BLANK: Self = ChannelFormat { x: 0, y: 0, z: 0, w: 0, kind: 0 };
}

ghost_abi::rows! { Cudart;
    fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelFormat => channel;
    fn cudaGetExportTable(table: *mut Ptr, id: Ptr);
}

fn channel(x: i32, y: i32, z: i32, w: i32, kind: i32) -> ChannelFormat {
    ChannelFormat { x, y, z, w, kind }
}

ghost_abi::absent! { Cudart;
    cudaArrayGetInfo cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaCreateSurfaceObject cudaCreateTextureObject cudaDestroySurfaceObject cudaDestroyTextureObject
    cudaDeviceGetTexture1DLinearMaxWidth cudaExternalMemoryGetMappedMipmappedArray cudaFreeArray
    cudaFreeMipmappedArray cudaGetChannelDesc cudaGetMipmappedArrayLevel cudaGetSurfaceObjectResourceDesc
    cudaGetTextureObjectResourceDesc cudaGetTextureObjectResourceViewDesc cudaGetTextureObjectTextureDesc
    cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsSubResourceGetMappedArray
    cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface cudaMalloc3DArray
    cudaMallocArray cudaMallocMipmappedArray cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds
    cudaMemcpy2DFromArray cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz
    cudaMemcpy2DFromArray_ptds cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz
    cudaMemcpy2DToArray_ptds cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds cudaMemcpyFromArray
    cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz cudaMemcpyFromArray_ptds cudaMemcpyToArray
    cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz cudaMemcpyToArray_ptds
    cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties
    cudaDeviceGetNvSciSyncAttributes cudaEGLStreamConsumerAcquireFrame cudaEGLStreamConsumerConnect
    cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame
    cudaEGLStreamProducerConnect cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync cudaGLGetDevices cudaGLMapBufferObject
    cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice
    cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject
    cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage
    cudaGraphicsMapResources cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags cudaGraphicsUnmapResources cudaGraphicsUnregisterResource
    cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
    cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaExternalMemoryGetMappedBuffer
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
    cudaGraphExecExternalSemaphoresSignalNodeSetParams cudaGraphExecExternalSemaphoresWaitNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams
    cudaImportExternalMemory cudaImportExternalSemaphore cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz cudaWaitExternalSemaphoresAsync
    cudaWaitExternalSemaphoresAsync_ptsz
    cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount cudaDeviceGetDevResource
    cudaDeviceGetExecutionCtx cudaExecutionCtxDestroy cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice
    cudaExecutionCtxGetId cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate cudaExecutionCtxSynchronize
    cudaExecutionCtxWaitEvent cudaGreenCtxCreate
    __cudaGetProcAddress
    cudaGraphMemcpyNodeGetParams
    cudaGraphNodeGetParams
    cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DWithAttributesAsync
    cudaMemcpy3DWithAttributesAsync_ptsz
}
