import type { z } from 'zod';

import type {
  importedOperation,
  importFinding,
  ImportProgress,
  upload,
} from '#contracts/http/template-import';
import { findingLimits } from '#contracts/http/templates';
import type { TemplateReport } from '#contracts/http/templates';
import type { ImportFinding, ImportedOperation } from './imported.ts';

/**
 * The largest size of the list of operations. The list and the draft are in one message on the bus,
 * and a message holds 4 MiB.
 */
const listedBytesMax = 2_500_000;
const listedOperationsMax = 20_000;
const presentedFindingsMax = 500;
const reportedFindingsMax = 100;

/**
 * Lists the operations of the document; of a very large document, only as many as one answer holds.
 */
export function presentOperations(
  operations: readonly ImportedOperation[],
): z.infer<typeof importedOperation>[] {
  const listedOperations: z.infer<typeof importedOperation>[] = [];
  let bytes = 0;
  for (const operation of operations.slice(0, listedOperationsMax)) {
    const { skipped } = operation;
    const shownImport = {
      operation_id: operation.operation_id.slice(0, 2100),
      method: operation.method,
      path: operation.path.slice(0, 2000),
      summary: operation.summary.slice(0, 1000),
      risk: operation.risk,
      ...(operation.deprecated && { deprecated: operation.deprecated }),
      included: operation.included,
      inferred: [...operation.inferred],
      ...(skipped && { skipped: { code: skipped.code, message: skipped.message.slice(0, 2000) } }),
    };
    bytes += Buffer.byteLength(JSON.stringify(shownImport));
    if (bytes > listedBytesMax) break;
    listedOperations.push(shownImport);
  }
  return listedOperations;
}

/** Lists errors first, then warnings, then notes. */
export function presentFindings(
  findings: readonly ImportFinding[],
): z.infer<typeof importFinding>[] {
  const order = ['error', 'warning', 'info'];
  return findings
    .toSorted((left, right) => order.indexOf(left.severity) - order.indexOf(right.severity))
    .slice(0, presentedFindingsMax)
    .map((finding) => ({ ...presentFinding(finding), severity: finding.severity }));
}

/** The report on a document that the import refused. */
export function presentRefusal(findings: readonly ImportFinding[]): TemplateReport {
  const listFindings = (isError: boolean) =>
    findings
      .filter(({ severity }) => (severity === 'error') === isError)
      .slice(0, reportedFindingsMax)
      .map(presentFinding);
  return { valid: false, errors: listFindings(true), warnings: listFindings(false) };
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

function presentFinding({ code, message, path, line }: ImportFinding) {
  return {
    code,
    message: message.slice(0, findingLimits.message),
    path: path.slice(0, findingLimits.path),
    line: line ?? null,
  };
}
