import { describe, expect, test } from 'vitest';

import { findFaults } from './structure-rules.ts';

const createReadme = (rows: string) =>
  `# audit\n\n## Nouns\n\n| Folder | Holds | Uses |\n|---|---|---|\n${rows}\n\n## Tables\n`;

/** A source tree without faults, with these files added or replaced. */
function createTree(files: Record<string, string> = {}): Map<string, string> {
  return new Map(
    Object.entries({
      'package.json': '{"imports":{"#errors":"./services-src/errors/index.ts"}}',
      'audit/README.md': createReadme(
        '| `chain/` | the hashes | – |\n| `records/` | the rows | `chain/` |',
      ),
      'audit/start.ts': "import { list } from './records/list-records.ts';\n",
      'audit/chain/domain/hash.ts': "import { AppError } from '#errors';\n",
      'audit/records/list-records.ts': "import type { Hash } from '../chain/domain/hash.ts';\n",
      'services-src/errors/index.ts': '',
      ...files,
    }),
  );
}

describe('the structure check', () => {
  test('accepts a tree that follows the rules', () => {
    expect(findFaults(createTree())).toEqual([]);
  });

  test.for<[fault: string, files: Record<string, string>, expected: RegExp]>([
    [
      'a circle of imports of types between two files',
      {
        'services-src/a.ts': "import type { B } from './b.ts';\n",
        'services-src/b.ts': "import type { A } from './a.ts';\n",
      },
      /in a circle: services-src\/a\.ts, services-src\/b\.ts/,
    ],
    [
      'a circle of imports through a subpath import and an import over several lines',
      {
        'services-src/errors/index.ts': "export { C } from '../c.ts';\n",
        'services-src/c.ts': "import {\n  AppError,\n  type Code,\n} from '#errors';\n",
      },
      /in a circle: services-src\/c\.ts, services-src\/errors\/index\.ts/,
    ],
    [
      'a circle of imports that a dynamic import closes',
      {
        'services-src/a.ts': "const b = await import('./b.ts');\n",
        'services-src/b.ts': "import './a.ts';\n",
      },
      /in a circle/,
    ],
    [
      'a domain file that imports a file outside domain/',
      {
        'audit/chain/domain/hash.ts': "import { read } from '../read.ts';\n",
        'audit/chain/read.ts': '',
      },
      /audit\/chain\/domain\/hash\.ts is in domain\/ and imports audit\/chain\/read\.ts/,
    ],
    [
      'a domain file that reads the clock',
      { 'audit/chain/domain/age.ts': 'const ageMs = Date.now() - at;\n' },
      /audit\/chain\/domain\/age\.ts is in domain\/ and reads the clock/,
    ],
    [
      'a statement of SQL in a use case',
      { 'audit/records/count.ts': 'const rows = await sql<Row[]>`select 1`;\n' },
      /audit\/records\/count\.ts has a statement of SQL/,
    ],
    [
      'an arrow between two folders that the README does not list',
      {
        'audit/chain/verify.ts': "import { x } from '../records/x.sql.ts';\n",
        'audit/records/x.sql.ts': '',
      },
      /does not say that chain\/ uses records\//,
    ],
    [
      'an arrow between two folders that the README lists and no import uses',
      { 'audit/records/list-records.ts': '' },
      /says that records\/ uses chain\/; nothing in it does/,
    ],
    [
      'a folder that the README does not list',
      { 'audit/export/export-records.ts': '' },
      /does not list the folder export\//,
    ],
    [
      'a listed folder that does not exist',
      {
        'audit/README.md': createReadme(
          '| `chain/` | the hashes | – |\n| `records/` | the rows | `chain/` |\n| `news/` | | – |',
        ),
      },
      /lists news\/, which does not exist/,
    ],
    [
      'folders that use each other, though the README lists both arrows',
      {
        'audit/README.md': createReadme(
          '| `chain/` | the hashes | `records/` |\n| `records/` | the rows | `chain/` |',
        ),
        'audit/chain/verify.ts': "import { x } from '../records/x.sql.ts';\n",
        'audit/records/x.sql.ts': '',
      },
      /Folders of audit use each other in a circle: chain, records/,
    ],
    [
      'a folder with too many files',
      Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`audit/records/f${i}.ts`, ''])),
      /audit\/records\/ has 27 production files/,
    ],
  ])('reports %s', ([, files, expected]) => {
    expect(findFaults(createTree(files)).join('\n')).toMatch(expected);
  });

  test('ignores imports in test files', () => {
    const files = {
      'audit/chain/hash.test.ts': "import { list } from '../records/list-records.ts';\n",
      'audit/chain/worlds.testing.ts': "import { list } from '../records/list-records.ts';\n",
    };
    expect(findFaults(createTree(files))).toEqual([]);
  });
});
