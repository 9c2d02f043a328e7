import type { HttpMethod, JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { toConcreteMediaType, mediaTypeRankOf } from '../../compiler/domain/request-body.ts';
import type { Inference } from './imported.ts';
import { SkipOperation } from './parameters.ts';
import { convertSchema } from './schemas.ts';
import type { SchemaBudget } from './schemas.ts';
import { followReference, isUnsafeName, objectAt, shortenText, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

const methodsWithoutBody: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS'];

interface ConvertedBody {
  readonly requestBody: JsonObject | undefined;
  readonly inferred: Inference[];
}

/** Converts the body of an operation. Keeps only the media type that requests will have. */
export function convertBody(
  source: ImportSource,
  operation: DocumentNode<JsonObject>,
  { method, budget }: { method: HttpMethod; budget: SchemaBudget },
): ConvertedBody {
  const declaredBody = operation.value['requestBody'];
  if (declaredBody === undefined || declaredBody === null)
    return { requestBody: undefined, inferred: [] };
  const bodyNode = followReference(source, {
    value: declaredBody,
    path: [...operation.path, 'requestBody'],
  });
  if (bodyNode === undefined)
    throw new SkipOperation('body_unsupported', 'Its body is not described.');
  const { required } = bodyNode.value;
  const isRequired = required === true;
  const media = chooseMedia(bodyNode.value['content'] ?? null);
  if (media === undefined || methodsWithoutBody.includes(method)) {
    const problem = media === undefined ? 'no media type' : `a ${method} request has none`;
    if (isRequired)
      throw new SkipOperation('body_unsupported', `Its body cannot be sent: ${problem}.`);
    source.notes.info('body_dropped', bodyNode.path, `The body is left out: ${problem}.`);
    return { requestBody: undefined, inferred: [] };
  }
  const path = [...bodyNode.path, 'content', media.givenType];
  const schema = convertSchema(
    source,
    { value: media.value['schema'] ?? {}, path: [...path, 'schema'] },
    budget,
  );
  const encoding = convertEncoding(media.value);
  const description = textAt(bodyNode.value, 'description') ?? '';
  // OpenAPI says that a body is optional unless stated, and authors forget to state it.
  const isTakenAsRequired = required === undefined && requiresMembers(schema);
  if (isTakenAsRequired) {
    const message =
      'The document does not say whether the body is required; its schema requires members, so it is.';
    source.notes.info('body_required', bodyNode.path, message);
  }
  const requestBody = {
    ...((isRequired || isTakenAsRequired) && { required: true }),
    ...(description !== '' && { description: shortenText(description, 2000) }),
    content: { [media.type]: { schema, ...(encoding && { encoding }) } },
  };
  const inferred: Inference[] = [
    ...(media.type === media.givenType ? [] : (['media_type'] as const)),
    ...(isTakenAsRequired ? (['body_required'] as const) : []),
  ];
  return { requestBody, inferred };
}

/** Whether each value that the schema accepts has members, or elements, that it requires. */
function requiresMembers(schema: JsonValue | undefined): boolean {
  if (!isObject(schema)) return false;
  const { required, allOf, anyOf, oneOf, minProperties, minItems } = schema;
  if (Array.isArray(required) && required.length > 0) return true;
  if (Number(minProperties) > 0 || Number(minItems) > 0) return true;
  if (Array.isArray(allOf) && allOf.some(requiresMembers)) return true;
  return [anyOf, oneOf].some(
    (branches) => Array.isArray(branches) && branches.every(requiresMembers),
  );
}

interface ChosenMedia {
  readonly givenType: string;
  readonly type: string;
  readonly value: JsonObject;
}

/** Chooses the media type that the compiler would choose. */
function chooseMedia(content: unknown): ChosenMedia | undefined {
  if (!isObject(content)) return undefined;
  const entries = Object.entries(content).flatMap(([given, value]): ChosenMedia[] =>
    isObject(value) && given.length <= 200 && !isUnsafeName(given)
      ? [{ givenType: given, type: toConcreteMediaType(given.trim(), value), value }]
      : [],
  );
  return entries.toSorted((a, b) => mediaTypeRankOf(a.type) - mediaTypeRankOf(b.type))[0];
}

/** Converts the `encoding` of each form field (OpenAPI §4.8.15), without its `headers`. */
function convertEncoding(media: JsonObject): JsonObject | undefined {
  const entries = Object.entries(objectAt(media, 'encoding')).flatMap(([name, value]) => {
    if (!isObject(value) || isUnsafeName(name)) return [];
    const { contentType, style, explode, allowReserved } = value;
    const encoding = {
      ...(typeof contentType === 'string' && { contentType: shortenText(contentType, 200) }),
      ...(typeof style === 'string' && { style: shortenText(style, 30) }),
      ...(typeof explode === 'boolean' && { explode }),
      ...(typeof allowReserved === 'boolean' && { allowReserved }),
    };
    return Object.keys(encoding).length > 0 ? [[name, encoding] as const] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
