import type { JsonObject } from '../../document/domain/context.ts';
import { compileParsed } from '../../compiler/domain/template.ts';
import { convertDocument } from './convert-document.ts';
import { petDocument } from './hostile-documents.testing.ts';
import type { ImportRequest } from './imported.ts';

export type Document = ReturnType<typeof petDocument>;

/** Imports the pet document after a change, and compiles the template, which must have no errors. */
export function importChanged(
  change: (document: Document) => void,
  request: Partial<ImportRequest> = {},
) {
  const document = petDocument();
  change(document);
  const imported = convertDocument({ text: JSON.stringify(document), ...request });
  if (!imported.ok)
    return { imported, findings: imported.findings, codes: codesOf(imported.findings) };
  const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
  const { report, template } = compileParsed(imported.document, options);
  if (template === undefined || report.errors.length > 0)
    throw new Error(`The imported template does not compile: ${JSON.stringify(report.errors)}`);
  const { document: result, operations, findings } = imported;
  return { imported, result, template, operations, findings, codes: codesOf(findings) };
}

/** The codes of findings, in their order. */
export const codesOf = (findings: readonly { code: string }[]) => findings.map(({ code }) => code);

/** Imports a document that has this operation alone, and returns its compiled action too. */
export function importOperation(
  operation: JsonObject,
  { path = '/things', method = 'post', ...rest } = {},
) {
  const imported = importChanged((document) => {
    Object.assign(document, rest);
    document.paths = { [path]: { [method]: { operationId: 'only', ...operation } } };
  });
  return { ...imported, action: imported.template?.actions['only'] };
}
