import type { z } from 'zod';

import { findingLimits } from '#contracts/http/templates';
import type { openapiDocument, TemplateReport } from '#contracts/http/templates';
import type { CompiledTemplate } from '#contracts/template';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { JsonObject } from '../document/domain/context.ts';
import { documentBytesMax } from '../document/domain/source.ts';

interface AuthoredDocument {
  readonly openapi: z.infer<typeof openapiDocument>;
  readonly tier: Tier;
  readonly ownerId: string;
  readonly authorId: string;
}

export interface ReadDocumentResult {
  readonly report: TemplateReport;
  readonly template: CompiledTemplate | undefined;
  /** The text of the document to store. */
  readonly text: string;
}

/**
 * Compiles a document that an author wrote. The version number is assigned later, when the document
 * is saved.
 */
export async function readDocument(
  { compile }: Pick<Deps, 'compile'>,
  { openapi, tier, ownerId, authorId }: AuthoredDocument,
): Promise<ReadDocumentResult> {
  const isText = typeof openapi === 'string';
  const text = isText ? openapi : toStoredText(openapi);
  const { report, template } = await compile({ text, tier, ownerId }, { owner: authorId });
  return { text, template, report: boundReport(report, { hasLines: isText }) };
}

/**
 * Writes the JSON with indentation, for people who edit it later, unless that exceeds the size
 * limit.
 */
function toStoredText(document: JsonObject): string {
  const indentedText = JSON.stringify(document, null, 2);
  const isWithinLimit = Buffer.byteLength(indentedText) <= documentBytesMax;
  return isWithinLimit ? indentedText : JSON.stringify(document);
}

/**
 * Compiles a document that is about to be saved. Throws `template_invalid` with the report when the
 * document has errors.
 */
export async function readValidDocument(
  deps: Pick<Deps, 'compile'>,
  authoredDocument: AuthoredDocument,
): Promise<ReadDocumentResult & { template: CompiledTemplate }> {
  const { report, template, text } = await readDocument(deps, authoredDocument);
  if (template === undefined) throw invalidTemplate(report);
  return { report, template, text };
}

export function invalidTemplate(report: TemplateReport): AppError {
  const count = report.errors.length;
  const message = `The template has ${count === 1 ? 'an error' : `${count} errors`}; nothing was saved. The report says what to fix.`;
  return new AppError('template_invalid', message, { details: { report: { ...report } } });
}

/**
 * Shortens the report to the bounds of its contract, because findings quote text of any length.
 * Removes the line numbers when the author sent an object, because the author then has no text with
 * lines.
 */
function boundReport(
  { valid, errors, warnings }: TemplateReport,
  { hasLines }: { hasLines: boolean },
): TemplateReport {
  const boundFindings = (findings: TemplateReport['errors']) =>
    findings.map(({ code, message, path, line }) => ({
      code,
      message: message.slice(0, findingLimits.message),
      path: path.slice(0, findingLimits.path),
      line: hasLines ? line : null,
    }));
  return { valid, errors: boundFindings(errors), warnings: boundFindings(warnings) };
}
