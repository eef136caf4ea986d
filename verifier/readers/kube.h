// Kubernetes objects of a parsed document -> SpecFacts: pods wherever they stand in it, and the
// objects that pods refer to. Used by spec.cc alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "verifier/engine/job_facts.h"
#include "verifier/readers/spec_tree.h"

namespace rdmaguard::readers {

/// Where line 0 of a tree stands in the input.
struct TreePlace {
  engine::Place first;
  engine::Place of(const TreeNode* node) const {
    engine::Place p = first;
    p.line += node ? node->line : 0;
    return p;
  }
};

/// Takes in one document; `about` says what is known of its text. A List is its items.
void readKubeDocument(const Tree& tree, const TreePlace& place, engine::SpecDocument about,
                      engine::SpecFacts& out);

// kube_container.cc
engine::SpecContainer readKubeContainer(const Tree& tree, const TreeNode* node,
                                        engine::ContainerKind kind, const TreePlace& place);
void readKubeQuantities(const Tree& tree, const TreeNode* map, const TreePlace& place,
                        std::vector<engine::SpecQuantity>& into);

// kube_objects.cc: what a pod may refer to. False: no object of these kinds.
bool readKubeObject(const Tree& tree, const TreeNode* object, std::string_view kind,
                    const TreePlace& place, engine::SpecFacts& out);
/// Multus' annotation, JSON or "ns/a@if,b".
std::vector<engine::SpecName> readMultusNetworks(std::string_view value, const TreeNode* node,
                                                 const TreePlace& place);
/// A Kubernetes quantity; nothing where `text` is none.
std::optional<double> kubeQuantity(std::string_view text);

}  // namespace rdmaguard::readers
