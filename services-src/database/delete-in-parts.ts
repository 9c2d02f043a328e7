const partsMax = 100;

/**
 * Deletes rows in parts of up to `limit` rows, each in its own transaction, until a part is not
 * full. It stops after 100 parts, so that the process can stop; the next run deletes the rest.
 * `deletePart` returns how many rows it has deleted.
 */
export async function deleteInParts(
  deletePart: (limit: number) => Promise<number>,
  limit = 5_000,
): Promise<void> {
  for (let part = 0; part < partsMax; part += 1) {
    if ((await deletePart(limit)) < limit) return;
  }
}
