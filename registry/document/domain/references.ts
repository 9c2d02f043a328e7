import { isObject } from './context.ts';
import type { CompileContext, JsonObject, DocumentNode } from './context.ts';
import type { DocumentPath } from './findings.ts';

/**
 * Finds the target of a `$ref` in the same document. References to other documents are refused: a
 * template is one document, and no other server may change what the template means.
 */
export function lookUpReference(
  context: CompileContext,
  reference: DocumentNode,
): DocumentNode | undefined {
  const { findings } = context;
  const { value, path } = reference;
  if (typeof value !== 'string') {
    findings.error(
      'wrong_type',
      path,
      '"$ref" must be a string such as "#/components/schemas/Issue".',
    );
    return undefined;
  }
  if (!value.startsWith('#/')) {
    findings.error(
      'ref_remote',
      path,
      `"${value}" is outside this document. Copy what it names into "components" and refer to it there.`,
    );
    return undefined;
  }
  const targetPath = parsePointer(value);
  const targetValue = targetPath && valueAt(context.document, targetPath);
  if (targetPath === undefined || targetValue === undefined) {
    findings.error('ref_not_found', path, `Nothing exists at "${value}". Correct the reference.`);
    return undefined;
  }
  return { value: targetValue, path: targetPath };
}

/**
 * Returns the object itself, or the target when the object is a reference to a shared parameter or
 * request body.
 */
export function followReference(
  context: CompileContext,
  node: DocumentNode,
): DocumentNode<JsonObject> | undefined {
  let current: DocumentNode = node;
  for (let hops = 0; isObject(current.value) && '$ref' in current.value; hops += 1) {
    if (hops === 10) {
      context.findings.error(
        'ref_cycle',
        node.path,
        'The references go round in a circle. Break it.',
      );
      return undefined;
    }
    const next = lookUpReference(context, {
      value: current.value['$ref'] ?? null,
      path: [...current.path, '$ref'],
    });
    if (next === undefined) return undefined;
    current = next;
  }
  if (isObject(current.value)) return { value: current.value, path: current.path };
  context.findings.error('wrong_type', current.path, 'An object belongs here.');
  return undefined;
}

function parsePointer(reference: string): string[] | undefined {
  try {
    return decodeURIComponent(reference.slice(2))
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    // The pointer contains an invalid percent sign, so no value has this pointer.
    return undefined;
  }
}

function valueAt(document: JsonObject, path: DocumentPath) {
  let value: DocumentNode['value'] | undefined = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as JsonObject)[step];
  }
  return value;
}
