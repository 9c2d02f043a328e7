import type { z } from 'zod';

import { findingLimits } from '#contracts/http/templates';
import type { openapiDocument, TemplateReport } from '#contracts/http/templates';
import type { CompiledTemplate } from '#contracts/template';
import type { Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { JsonObject } from '../domain/context.ts';
import { documentBytesMax } from '../domain/source.ts';

interface Authored {
  readonly openapi: z.infer<typeof openapiDocument>;
  readonly tier: Tier;
  readonly ownerId: string;
}

export interface ReadDocument {
  readonly report: TemplateReport;
  readonly template: CompiledTemplate | undefined;
  /** As it is kept. */
  readonly text: string;
}

/** Reads and checks what an author wrote; its version is decided when it is saved. */
export async function readDocument(
  { compile }: Pick<Deps, 'compile'>,
  { openapi, tier, ownerId }: Authored,
): Promise<ReadDocument> {
  const isText = typeof openapi === 'string';
  const text = isText ? openapi : textOf(openapi);
  const { report, template } = await compile({ text, tier, ownerId });
  return { text, template, report: boundedReport(report, { hasLines: isText }) };
}

/** Readable for whoever edits it next, unless that makes it too large. */
function textOf(document: JsonObject): string {
  const readable = JSON.stringify(document, null, 2);
  const fits = Buffer.byteLength(readable) <= documentBytesMax;
  return fits ? readable : JSON.stringify(document);
}

/** The same, for what is about to be saved: `template_invalid` with the report if it has errors. */
export async function readValidDocument(
  deps: Pick<Deps, 'compile'>,
  authored: Authored,
): Promise<ReadDocument & { template: CompiledTemplate }> {
  const { report, template, text } = await readDocument(deps, authored);
  if (template === undefined) throw invalidTemplate(report);
  return { report, template, text };
}

export function invalidTemplate(report: TemplateReport): AppError {
  const count = report.errors.length;
  const message = `The template has ${count === 1 ? 'an error' : `${count} errors`}; nothing was saved. The report says what to mend.`;
  return new AppError('template_invalid', message, { details: { report: { ...report } } });
}

/**
 * A report that fits its contract: findings quote what the author wrote, however long that is.
 * Who sent an object never saw the lines that it was written in here.
 */
function boundedReport(
  { valid, errors, warnings }: TemplateReport,
  { hasLines }: { hasLines: boolean },
): TemplateReport {
  const bounded = (findings: TemplateReport['errors']) =>
    findings.map(({ code, message, path, line }) => ({
      code,
      message: message.slice(0, findingLimits.message),
      path: path.slice(0, findingLimits.path),
      line: hasLines ? line : null,
    }));
  return { valid, errors: bounded(errors), warnings: bounded(warnings) };
}
