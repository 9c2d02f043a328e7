import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

import { compileTemplate } from '../../registry/compiler/domain/template.ts';
import { convertDocument } from '../../registry/import/domain/convert-document.ts';
import { chooseSweepValue } from '../support/sweeps.ts';
import { listDocuments } from './documents.ts';

/**
 * Of this many documents, the test imports one. `npm run corpus` imports all documents, and also
 * measures time and memory.
 */
const sampledOneIn = chooseSweepValue({ sampled: 60, whole: 20 });
const sampledDocuments = (await listDocuments()).filter((_, index) => index % sampledOneIn === 0);

test.each(sampledDocuments)(
  'the import of the document $name produces a draft that compiles',
  async ({ path }) => {
    const imported = convertDocument({ text: await readFile(path) });

    expect(imported).toMatchObject({ ok: true });
    if (!imported.ok) return;
    // The registry stores a draft as text. So the test compiles the draft from text too, through
    // the strict reader.
    const { report, template } = compileTemplate(JSON.stringify(imported.document), {
      tier: 'org',
      ownerId: null,
      version: 1,
      isDraft: true,
    });
    expect(report.errors).toEqual([]);
    const included = imported.operations.filter((operation) => operation.included);
    expect(Object.keys(template?.actions ?? {})).toEqual(
      expect.arrayContaining(included.map(({ operation_id }) => operation_id)),
    );
    for (const { operation_id, risk } of included) {
      expect([operation_id, template?.actions[operation_id]?.risk]).toEqual([operation_id, risk]);
    }
    for (const operation of imported.operations) {
      expect(operation.included || operation.skipped !== undefined, operation.path).toBe(true);
    }
  },
);
