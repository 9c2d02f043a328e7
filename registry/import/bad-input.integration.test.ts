import { afterAll, describe, expect, test } from 'vitest';

import { compileParsed } from '../domain/template.ts';
import { hostileDocuments, petDocument } from './hostile-documents.testing.ts';
import { createImporter } from './index.ts';

const noNetwork = new URL('../../test/corpus/no-network.ts', import.meta.url).href;
const importer = createImporter({ execArgv: ['--import', noNetwork] });
afterAll(() => importer[Symbol.asyncDispose]());

const compiled = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;

describe('a document that is made to harm', () => {
  test.each(hostileDocuments)(
    '%s: is refused or read, and the next one works',
    async (_name, text) => {
      const imported = await importer.importDocument({ text });

      if (imported.ok) {
        expect(compileParsed(imported.document, compiled).report.errors).toEqual([]);
        expect(JSON.stringify(imported)).not.toContain('root:');
      } else {
        expect(imported.findings).toMatchObject([
          { severity: 'error', message: expect.any(String) },
        ]);
      }
      expect(JSON.stringify(imported.findings)).not.toContain('time_out');
      const next = await importer.importDocument({ text: JSON.stringify(petDocument()) });
      expect(next).toMatchObject({
        ok: true,
        operations: [{ included: true }, { included: true }],
      });
    },
  );
});
