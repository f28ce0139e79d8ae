//! A graph as a picture's text, for `cuGraphDebugDotPrint`.

use std::fmt::Write as _;

use super::{Body, Node, Params, graph, node_handle};
use crate::Error;
use crate::arena::Handle;
use crate::core::Core;

const VERBOSE: u32 = 1;
const KERNEL: u32 = 1 << 2;
const COPY: u32 = 1 << 3;
const FILL: u32 = 1 << 4;
const HANDLES: u32 = 1 << 10;

/// The graph in Graphviz's language; `flags` as `CUgraphDebugDot_flags` say what is told of the nodes.
pub fn text(core: &Core, of: Handle, flags: u32) -> Result<String, Error> {
    let mut out = String::from("digraph dot {\n");
    cluster(core, of, flags, &mut out)?;
    out.push_str("}\n");
    Ok(out)
}

fn cluster(core: &Core, of: Handle, flags: u32, out: &mut String) -> Result<(), Error> {
    let graph = graph(core, of)?;
    let id = graph.id;
    let _ = writeln!(out, "subgraph cluster_{id} {{\nlabel=\"graph_{id}\"");
    for node in &graph.nodes {
        let (local, label) = (node.local, label(of, node, flags));
        let _ = writeln!(out, "\"graph_{id}_node_{local}\"[shape=\"rectangle\" label=\"{label}\"]");
        for from in node.after.iter().filter_map(|edge| graph.node(edge.from)) {
            let _ = writeln!(out, "\"graph_{id}_node_{}\" -> \"graph_{id}_node_{local}\"", from.local);
        }
    }
    out.push_str("}\n");
    let children = graph.nodes.iter().filter_map(|n| if let Body::Child(c) = n.body { Some(c) } else { None });
    children.into_iter().try_for_each(|child| cluster(core, child, flags, out))
}

fn label(of: Handle, node: &Node, flags: u32) -> String {
    let wants = |flag| flags & (VERBOSE | flag) != 0;
    let mut out = format!("{}\\n{:?}", node.local, node.body.kind());
    if wants(HANDLES) {
        let _ = write!(out, "\\nnode {:#x}", node_handle(of, node.id) as u64);
    }
    match &node.body {
        Body::Work { params: Params::Kernel(kernel), .. } => {
            let _ = write!(out, "\\n{}", kernel.loaded.info.name.escape_default());
            if wants(KERNEL) {
                let of = kernel.geometry;
                let _ = write!(out, "\\ngrid {:?} block {:?} shared {}", of.grid, of.block, of.shared_bytes);
            }
        }
        Body::Work { params: Params::Copy(copy), .. } if wants(COPY) => {
            let _ = write!(out, "\\n{} x {} x {} bytes", copy.width, copy.height, copy.depth);
        }
        Body::Work { params: Params::Fill(fill), .. } if wants(FILL) => {
            let _ = write!(out, "\\n{} x {} elements of {}", fill.width, fill.height, fill.element);
        }
        _ => {}
    }
    out
}
