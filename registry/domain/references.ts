import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import type { Path } from './findings.ts';

/**
 * The place a local `$ref` points to. Remote references are never fetched: a
 * template is one document, and its meaning must not change behind its back.
 */
export function lookUpReference(context: Context, reference: Place): Place | undefined {
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
      `"${value}" lies outside of this document. Copy what it names into "components" and refer to it there.`,
    );
    return undefined;
  }
  const target = parsePointer(value);
  const found = target && valueAt(context.document, target);
  if (target === undefined || found === undefined) {
    findings.error('ref_not_found', path, `Nothing stands at "${value}". Correct the reference.`);
    return undefined;
  }
  return { value: found, path: target };
}

/** Follows a Reference Object (parameters, request bodies) to the object it stands for. */
export function followReference(context: Context, at: Place): Place<JsonObject> | undefined {
  let place: Place = at;
  for (let hops = 0; isObject(place.value) && '$ref' in place.value; hops += 1) {
    if (hops === 10) {
      context.findings.error(
        'ref_cycle',
        at.path,
        'The references go round in a circle. Break it.',
      );
      return undefined;
    }
    const next = lookUpReference(context, {
      value: place.value['$ref'] ?? null,
      path: [...place.path, '$ref'],
    });
    if (next === undefined) return undefined;
    place = next;
  }
  if (isObject(place.value)) return { value: place.value, path: place.path };
  context.findings.error('wrong_type', place.path, 'An object belongs here.');
  return undefined;
}

function parsePointer(reference: string): string[] | undefined {
  try {
    return decodeURIComponent(reference.slice(2))
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    // A stray "%": the pointer names nothing.
    return undefined;
  }
}

function valueAt(document: JsonObject, path: Path) {
  let value: Place['value'] | undefined = document;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as JsonObject)[step];
  }
  return value;
}
