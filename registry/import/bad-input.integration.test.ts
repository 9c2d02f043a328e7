import { afterAll, describe, expect, test } from 'vitest';

import { compileParsed } from '../compiler/domain/template.ts';
import { hostileDocuments, petDocument } from './domain/hostile-documents.testing.ts';
import { createImporter } from './importer.ts';

const noNetworkModule = new URL('../../test/corpus/no-network.ts', import.meta.url).href;
const importer = createImporter({ execArgv: ['--import', noNetworkModule] });
afterAll(() => importer[Symbol.asyncDispose]());

const compileOptions = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;

describe('a hostile document', () => {
  test.each(hostileDocuments)(
    'with %s is either refused or imported, and the next import works',
    async (_name, text) => {
      const imported = await importer.importDocument({ text });

      if (imported.ok) {
        expect(compileParsed(imported.document, compileOptions).report.errors).toEqual([]);
        expect(JSON.stringify(imported)).not.toContain('root:');
      } else {
        expect(imported.findings).toMatchObject([
          { severity: 'error', message: expect.any(String) },
        ]);
      }
      expect(JSON.stringify(imported.findings)).not.toContain('time_out');
      const nextImport = await importer.importDocument({ text: JSON.stringify(petDocument()) });
      expect(nextImport).toMatchObject({
        ok: true,
        operations: [{ included: true }, { included: true }],
      });
    },
  );
});
