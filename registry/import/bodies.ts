import type { HttpMethod } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import { concrete, rankOf } from '../domain/request-body.ts';
import type { Inference } from './imported.ts';
import { Skip } from './parameters.ts';
import { convertSchema } from './schemas.ts';
import type { SchemaBudget } from './schemas.ts';
import { follow, isUnsafeName, objectAt, shorten, textAt } from './source.ts';
import type { Source } from './source.ts';

const bodyless: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS'];

interface Body {
  readonly requestBody: JsonObject | undefined;
  readonly inferred: Inference[];
}

/** The body of an operation in the one media type that it will be sent in. */
export function convertBody(
  source: Source,
  operation: Place<JsonObject>,
  { method, budget }: { method: HttpMethod; budget: SchemaBudget },
): Body {
  const declared = operation.value['requestBody'];
  if (declared === undefined || declared === null) return { requestBody: undefined, inferred: [] };
  const at = follow(source, { value: declared, path: [...operation.path, 'requestBody'] });
  if (at === undefined) throw new Skip('body_unsupported', 'Its body is not described.');
  const isRequired = at.value['required'] === true;
  const media = chooseMedia(at.value['content'] ?? null);
  if (media === undefined || bodyless.includes(method)) {
    const problem = media === undefined ? 'no media type' : `a ${method} request has none`;
    if (isRequired) throw new Skip('body_unsupported', `Its body cannot be sent: ${problem}.`);
    source.notes.info('body_dropped', at.path, `The body is left out: ${problem}.`);
    return { requestBody: undefined, inferred: [] };
  }
  const path = [...at.path, 'content', media.given];
  const schema = convertSchema(
    source,
    { value: media.value['schema'] ?? {}, path: [...path, 'schema'] },
    budget,
  );
  const encoding = convertEncoding(media.value);
  const description = textAt(at.value, 'description') ?? '';
  const requestBody = {
    ...(isRequired && { required: true }),
    ...(description !== '' && { description: shorten(description, 2000) }),
    content: { [media.type]: { schema, ...(encoding && { encoding }) } },
  };
  return { requestBody, inferred: media.type === media.given ? [] : ['media_type'] };
}

interface Media {
  readonly given: string;
  readonly type: string;
  readonly value: JsonObject;
}

/** The one that the compiler would choose. */
function chooseMedia(content: unknown): Media | undefined {
  if (!isObject(content)) return undefined;
  const entries = Object.entries(content).flatMap(([given, value]): Media[] =>
    isObject(value) && given.length <= 200 && !isUnsafeName(given)
      ? [{ given, type: concrete(given.trim(), value), value }]
      : [],
  );
  return entries.toSorted((a, b) => rankOf(a.type) - rankOf(b.type))[0];
}

/** OpenAPI §4.8.15, without the headers of parts. */
function convertEncoding(media: JsonObject): JsonObject | undefined {
  const entries = Object.entries(objectAt(media, 'encoding')).flatMap(([name, value]) => {
    if (!isObject(value) || isUnsafeName(name)) return [];
    const { contentType, style, explode, allowReserved } = value;
    const encoding = {
      ...(typeof contentType === 'string' && { contentType: shorten(contentType, 200) }),
      ...(typeof style === 'string' && { style: shorten(style, 30) }),
      ...(typeof explode === 'boolean' && { explode }),
      ...(typeof allowReserved === 'boolean' && { allowReserved }),
    };
    return Object.keys(encoding).length > 0 ? [[name, encoding] as const] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
