import { failureKind } from '#contracts/failure';
import type { FailureKind } from '#contracts/failure';
import type { CompiledFailure } from '#contracts/template';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { entryNodesOf, readList, readObject, readText } from '../../document/domain/reading.ts';

const failureField = 'x-service-failure';
const codesMax = 100;
const failureKinds: readonly string[] = failureKind.options;

/**
 * Compiles `failure`, which recognises answers that report a failure although their status is below
 * 400. Authors write a filter alone, or `{when, code?, kinds?, nothing_done?}`.
 */
export function compileFailure(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): CompiledFailure | undefined {
  const value = node.value[failureField];
  if (value === undefined) return undefined;
  const failureNode = { value, path: [...node.path, failureField] };
  if (typeof value === 'string') {
    const failureFilter = readText(context, node, { key: failureField, max: 2000, required: true });
    return failureFilter !== undefined && isValidFilter(context, failureNode, failureFilter)
      ? { when: failureFilter }
      : undefined;
  }
  if (!isObject(value)) {
    const message = 'Write a jq filter, or {when, code?, kinds?, nothing_done?}.';
    context.findings.error('failure_invalid', failureNode.path, message);
    return undefined;
  }
  return compileBlock(context, { value, path: failureNode.path });
}

function compileBlock(
  context: CompileContext,
  block: DocumentNode<JsonObject>,
): CompiledFailure | undefined {
  checkFields(context, block, 'failure');
  const failureFilter = readText(context, block, { key: 'when', max: 2000, required: true });
  const code = readText(context, block, { key: 'code', max: 200 });
  const nothingDone = readKinds(context, block, 'nothing_done');
  const codesByKind = readCodes(context, block);
  if (code !== undefined && !/^(?:\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(code)) {
    const message = '"code" must be a path such as .error.code.';
    context.findings.error('failure_invalid', [...block.path, 'code'], message);
  }
  if (codesByKind !== undefined && code === undefined) {
    const message = 'Add "code", the path of what "kinds" compares with.';
    context.findings.error('failure_invalid', block.path, message);
  }
  const path = [...block.path, 'when'];
  if (
    failureFilter === undefined ||
    !isValidFilter(context, { value: failureFilter, path }, failureFilter)
  )
    return undefined;
  return {
    when: failureFilter,
    ...(code === undefined ? {} : { code }),
    ...(codesByKind === undefined ? {} : { kinds: codesByKind }),
    ...(nothingDone.length === 0 ? {} : { nothingDone }),
  };
}

/** Reads `kinds`, which lists the provider's error codes for each kind of failure. */
function readCodes(
  context: CompileContext,
  block: DocumentNode<JsonObject>,
): CompiledFailure['kinds'] | undefined {
  const node = readObject(context, block, 'kinds');
  if (node === undefined) return undefined;
  const entries = entryNodesOf(node).flatMap(([kind, { path }]) => {
    if (!isFailureKind(kind)) {
      const message = `"${kind}" is not a kind of failure. The kinds are ${failureKinds.join(', ')}.`;
      context.findings.error('failure_invalid', path, message);
      return [];
    }
    const codes = readList(context, node, { key: kind, max: codesMax }).flatMap((code) => {
      if (typeof code.value === 'string' && code.value.length <= 200) return [code.value];
      const message = 'A code must be a text of at most 200 characters; put numbers in quotes.';
      context.findings.error('failure_invalid', code.path, message);
      return [];
    });
    return [[kind, codes] as const];
  });
  return Object.fromEntries(entries);
}

function readKinds(
  context: CompileContext,
  block: DocumentNode<JsonObject>,
  key: string,
): FailureKind[] {
  return readList(context, block, { key, max: failureKinds.length }).flatMap(({ value, path }) => {
    if (typeof value === 'string' && isFailureKind(value)) return [value];
    const message = `Name kinds of failures here: ${failureKinds.join(', ')}.`;
    context.findings.error('failure_invalid', path, message);
    return [];
  });
}

function isFailureKind(text: string): text is FailureKind {
  return failureKinds.includes(text);
}

function isValidFilter(
  { findings, options }: CompileContext,
  { path }: DocumentNode,
  filter: string,
): boolean {
  const problem = options.checkFilter?.(filter);
  if (problem === undefined) return true;
  findings.error('failure_invalid', path, `The filter is not valid jq: ${problem.slice(0, 300)}`);
  return false;
}
