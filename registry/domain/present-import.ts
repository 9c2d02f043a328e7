import type { z } from 'zod';

import type {
  importedOperation,
  importFinding,
  ImportProgress,
  upload,
} from '#contracts/http/template-import';
import { findingLimits } from '#contracts/http/templates';
import type { TemplateReport } from '#contracts/http/templates';
import type { ImportFinding, ImportedOperation } from '../import/index.ts';

/** What is listed of a document must fit into one message with the draft, whose limit is 4 MiB. */
const listedBytesMax = 2_500_000;
const listedMax = 20_000;
const findingsMax = 500;
const reportedMax = 100;

/** Every operation of the document; of gigantic ones as many as fit into an answer. */
export function presentOperations(
  operations: readonly ImportedOperation[],
): z.infer<typeof importedOperation>[] {
  const listed: z.infer<typeof importedOperation>[] = [];
  let bytes = 0;
  for (const operation of operations.slice(0, listedMax)) {
    const { skipped } = operation;
    const shown = {
      operation_id: operation.operation_id.slice(0, 2100),
      method: operation.method,
      path: operation.path.slice(0, 2000),
      summary: operation.summary.slice(0, 1000),
      risk: operation.risk,
      included: operation.included,
      inferred: [...operation.inferred],
      ...(skipped && { skipped: { code: skipped.code, message: skipped.message.slice(0, 2000) } }),
    };
    bytes += Buffer.byteLength(JSON.stringify(shown));
    if (bytes > listedBytesMax) break;
    listed.push(shown);
  }
  return listed;
}

/** What somebody should look at before what is only told. */
export function presentFindings(
  findings: readonly ImportFinding[],
): z.infer<typeof importFinding>[] {
  const order = ['error', 'warning', 'info'];
  return findings
    .toSorted((left, right) => order.indexOf(left.severity) - order.indexOf(right.severity))
    .slice(0, findingsMax)
    .map((finding) => ({ ...plain(finding), severity: finding.severity }));
}

/** The report of a document that cannot be imported. */
export function refusalOf(findings: readonly ImportFinding[]): TemplateReport {
  const of = (isError: boolean) =>
    findings
      .filter(({ severity }) => (severity === 'error') === isError)
      .slice(0, reportedMax)
      .map(plain);
  return { valid: false, errors: of(true), warnings: of(false) };
}

interface StoredUpload {
  readonly id: string;
  readonly size: number;
  readonly expiresAt: Date;
  readonly progress: ImportProgress | null;
}

export function presentUpload({
  id,
  size,
  expiresAt,
  progress,
}: StoredUpload): z.infer<typeof upload> {
  return { id, size, expires_at: expiresAt.toISOString(), progress };
}

function plain({ code, message, path, line }: ImportFinding) {
  return {
    code,
    message: message.slice(0, findingLimits.message),
    path: path.slice(0, findingLimits.path),
    line: line ?? null,
  };
}
