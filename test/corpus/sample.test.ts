import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

import { compileTemplate } from '../../registry/domain/template.ts';
import { convertDocument } from '../../registry/import/convert-document.ts';
import { listDocuments } from './documents.ts';

/** `npm run corpus` takes all of them, and looks at time and memory too. */
const sample = (await listDocuments()).filter((_, index) => index % 20 === 0);

test.each(sample)('$name becomes a draft that compiles', async ({ path }) => {
  const imported = convertDocument({ text: await readFile(path) });

  expect(imported).toMatchObject({ ok: true });
  if (!imported.ok) return;
  // As it is stored: through the strict reader, from text.
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
});
