import { z } from 'zod';

import { takeCritical, withCritical } from '#contracts/critical';
import { decisionStatement } from '#contracts/decision';
import { gap, permit } from '#contracts/permit';
import { readTolerantly } from '#contracts/tolerant';
import { principal } from '#contracts/vocabulary';
import { finalRefusal, unknownCritical, unreadable } from '#errors';

/** The kinds of signed statements, each with what it says. */
const statementSchemas = { principal, permit, gap, decision: decisionStatement };
export type StatementKind = keyof typeof statementSchemas;

/** The signed text of a statement: base64url of its JSON, with the list `crit` if it needs one. */
export function payloadOf(
  kind: StatementKind,
  statement: unknown,
  schema: z.core.$ZodType = statementSchemas[kind],
): string {
  return Buffer.from(JSON.stringify(withCritical(schema, statement))).toString('base64url');
}

/**
 * Reads the payload of a statement whose signature was verified. Members that a later release added
 * are ignored, unless the statement says that they narrow it. A statement that cannot be read is
 * refused as `unavailable`, because another replica may be able to read it.
 */
export function createStatementReader<T>(
  kind: StatementKind,
  schema: z.ZodType<T>,
): (payload: string) => T {
  const compiledSchema = z.compile(schema);
  return (payload) => {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const { unknown, rest } = takeCritical(schema, value);
    if (unknown.length > 0) throw unknownCritical(unknown);
    const readResult = readTolerantly(compiledSchema, rest);
    if (!readResult.success) throw unreadable(kind, readResult.error);
    return readResult.data;
  };
}

/**
 * Throws `unavailable` when a statement has a limit that is unknown here. The gateway calls it,
 * because it has no key to verify a principal and acts by the claims that come beside the signed
 * text.
 */
export function requireKnownLimits(kind: StatementKind, signed: string): void {
  const payload = Buffer.from(signed.slice(0, Math.max(signed.indexOf('.'), 0)), 'base64url');
  const { unknown } = takeCritical(statementSchemas[kind], parseOrNull(payload.toString('utf8')));
  if (unknown.length > 0) throw finalRefusal(unknownCritical(unknown));
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // The components that verify the statement refuse it.
  }
}
