import type { CompiledAction } from '#contracts/template';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import type { DeclaredParam } from './parameters.ts';
import { didYouMean } from '../../document/domain/nearest.ts';
import { readList, readText } from '../../document/domain/reading.ts';

/** Compiles `disclose`: the parts of a call that its approver sees. */
export function compileDisclose(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
): CompiledAction['disclose'] {
  const entries = readList(context, operation, { key: 'x-service-disclose', max: 50 });
  return entries.flatMap(({ value, path }) => {
    if (!isObject(value)) {
      context.findings.error(
        'disclose_invalid',
        path,
        'An entry must be {label, filter, max_chars?}.',
      );
      return [];
    }
    const node = { value, path };
    checkFields(context, node, 'disclosure');
    const label = readText(context, node, { key: 'label', max: 100, required: true });
    const filter = readText(context, node, { key: 'filter', max: 2000, required: true });
    const maxChars = value['max_chars'] ?? null;
    if (
      maxChars !== null &&
      !(Number.isInteger(maxChars) && Number(maxChars) >= 1 && Number(maxChars) <= 10_240)
    ) {
      context.findings.error(
        'disclose_invalid',
        [...path, 'max_chars'],
        '"max_chars" must be an integer from 1 to 10240.',
      );
      return [];
    }
    if (label === undefined || filter === undefined) return [];
    const problem = context.options.checkFilter?.(filter);
    if (problem !== undefined) {
      context.findings.error(
        'disclose_invalid',
        [...path, 'filter'],
        `The filter is not valid jq: ${problem.slice(0, 300)}`,
      );
      return [];
    }
    return [{ label, filter, maxChars: maxChars === null ? null : Number(maxChars) }];
  });
}

const redactSegment = /^[^.\s]+$/;

/**
 * Compiles `redact`: dotted paths into `{method, url, params, body}`, where `*` stands for every
 * element or property. A body property appears in `params` and in `body`, so a path to one of them
 * redacts both.
 */
export function compileRedact(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
  { params, wholeBody }: { params: readonly DeclaredParam[]; wholeBody: boolean },
): string[] {
  const paths = readList(context, operation, { key: 'x-service-redact', max: 50 });
  const redactedPaths = paths.flatMap(({ value, path }) => {
    const [root = '', name, ...rest] =
      typeof value === 'string' && value.length <= 490 ? value.split('.') : [];
    const segments = [root, ...(name === undefined ? [] : [name]), ...rest];
    if (
      !['url', 'params', 'body'].includes(root) ||
      !segments.every((segment) => redactSegment.test(segment))
    ) {
      const message =
        'Write a dotted path that starts with body, params or url, such as body.password or body.items.*.secret.';
      context.findings.error('redact_invalid', path, message);
      return [];
    }
    const bodyParams = params.filter((param) => param.in === 'body');
    const knownInputs =
      root === 'params'
        ? params.map((param) => param.name)
        : bodyParams.map((param) => param.wireName);
    const isNameChecked =
      name !== undefined && name !== '*' && (root === 'params' || (root === 'body' && !wholeBody));
    if (isNameChecked && !knownInputs.includes(name)) {
      const message = `There is no "${name}" to redact.${didYouMean(name, knownInputs)} Correct the path: what is misspelled would be kept.`;
      context.findings.error('redact_invalid', path, message);
      return [];
    }
    return pathsWithCounterpart(segments, { inBody: bodyParams, wholeBody });
  });
  return [...new Set(redactedPaths)];
}

function pathsWithCounterpart(
  segments: string[],
  { inBody, wholeBody }: { inBody: DeclaredParam[]; wholeBody: boolean },
): string[] {
  const [root, ...rest] = segments;
  const ownPath = segments.join('.');
  if (wholeBody && root === 'body') return [ownPath, ['params', 'body', ...rest].join('.')];
  const [name, ...deeper] = rest;
  const isAll = name === undefined || name === '*';
  const key = root === 'body' ? 'wireName' : 'name';
  const param = inBody.find((candidate) => candidate[key] === name);
  if (root === 'url' || !(isAll || param)) return [ownPath];
  if (root === 'params' && wholeBody) return [ownPath, ['body', ...deeper].join('.')];
  const mirroredSegments = param
    ? [root === 'body' ? param.name : param.wireName, ...deeper]
    : rest;
  return [ownPath, [root === 'body' ? 'params' : 'body', ...mirroredSegments].join('.')];
}
