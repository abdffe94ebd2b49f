// Rows by index that are converted, as items that cross a link packed.
#pragma once

#include "core/layout/converted_rows.hpp"
#include "cuda/convert_transfer.hpp"
#include "cuda/indexed_transfer.hpp"
#include "cuda/route/packed_parts.hpp"

namespace via::cuda {

class ConvertedItems final : public PackedItems {
public:
    // `reached` has the lists that the device reaches.
    ConvertedItems(const IndexedTransfer &transfer, const IndexedRows &reached);

    VIA_NODISCARD Status copy_on_device(const ResolvedStream &stream) override;

private:
    VIA_NODISCARD Status pack_items(int64_t first, int64_t count, char *packed, const ResolvedStream &stream) override;
    VIA_NODISCARD Status unpack_items(int64_t first, int64_t count, const char *packed,
                                      const ResolvedStream &stream) override;

    const LinkConversion link_;
    const ConvertedRows rows_;
};

}  // namespace via::cuda
