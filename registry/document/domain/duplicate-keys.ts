import { isScalar, visit } from 'yaml';
import type { Document, LineCounter } from 'yaml';

/**
 * Lists the keys that occur twice in one map, up to a limit. The parser itself compares each key
 * with all others of its map, which takes minutes for a map of 70,000 keys.
 */
export function findDuplicateKeys(
  document: Document.Parsed,
  { lines, max }: { readonly lines: LineCounter; readonly max: number },
): { readonly message: string; readonly line: number }[] {
  const found: { message: string; line: number }[] = [];
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          const { line, col } = lines.linePos(key.range?.[0] ?? 0);
          found.push({ message: `Map keys must be unique at line ${line}, column ${col}.`, line });
          if (found.length >= max) return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}
