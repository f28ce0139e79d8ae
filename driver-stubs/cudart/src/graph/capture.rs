//! Capturing a stream into a graph. All of it is the driver's.

use crate::Cudart;
use crate::driver::forward::*;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaStreamBeginCapture(stream: Stream, mode: i32) => cuStreamBeginCapture_v2;
    fn cudaStreamBeginCapture_ptsz(stream: PerThread, mode: i32) => cuStreamBeginCapture_v2;
    fn cudaStreamBeginCaptureToGraph(stream: Stream, graph: Graph, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, mode: i32) => cuStreamBeginCaptureToGraph;
    fn cudaStreamBeginCaptureToGraph_ptsz(stream: PerThread, graph: Graph, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, mode: i32) => cuStreamBeginCaptureToGraph;
    fn cudaStreamEndCapture(stream: Stream, graph: *mut Graph) => cuStreamEndCapture;
    fn cudaStreamEndCapture_ptsz(stream: PerThread, graph: *mut Graph) => cuStreamEndCapture;
    fn cudaStreamIsCapturing(stream: Stream, capture_status: *mut i32) => cuStreamIsCapturing;
    fn cudaStreamIsCapturing_ptsz(stream: PerThread, capture_status: *mut i32) => cuStreamIsCapturing;
    fn cudaStreamGetCaptureInfo(stream: Stream, capture_status_out: *mut i32, id_out: *mut u64, graph_out: *mut Graph, dependencies_out: *mut *mut Node, edge_data_out: *mut Ptr, num_dependencies_out: *mut usize) => cuStreamGetCaptureInfo_v3;
    fn cudaStreamGetCaptureInfo_ptsz(stream: PerThread, capture_status_out: *mut i32, id_out: *mut u64, graph_out: *mut Graph, dependencies_out: *mut *mut Node, edge_data_out: *mut Ptr, num_dependencies_out: *mut usize) => cuStreamGetCaptureInfo_v3;
    fn cudaStreamUpdateCaptureDependencies(stream: Stream, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, flags: u32) => cuStreamUpdateCaptureDependencies_v2;
    fn cudaStreamUpdateCaptureDependencies_ptsz(stream: PerThread, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, flags: u32) => cuStreamUpdateCaptureDependencies_v2;
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut i32) => cuThreadExchangeStreamCaptureMode;
}
