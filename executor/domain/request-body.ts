import type { JsonValue } from '#contracts/vocabulary';
import { encode, textOf } from './encode.ts';

export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

const isJson = /^application\/(json|[a-z0-9.+-]+\+json)\s*(;|$)/i;
const isForm = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const isMultipart = /^multipart\/form-data\s*(;|$)/i;

/**
 * A body in its media type. `boundary` comes from the digest of the call, never from chance:
 * an approved request can be built again byte for byte.
 */
export function encodeBody(value: JsonValue, mediaType: string, boundary: string): EncodedBody {
  if (isForm.test(mediaType) && isRecord(value)) {
    const text = Object.entries(value)
      .flatMap(([name, each]) => formPairs(name, each))
      .join('&');
    return { contentType: mediaType, bytes: Buffer.from(text) };
  }
  if (isMultipart.test(mediaType) && isRecord(value)) {
    return {
      contentType: `multipart/form-data; boundary=${boundary}`,
      bytes: multipart(value, boundary),
    };
  }
  const text = typeof value === 'string' && !isJson.test(mediaType) ? value : JSON.stringify(value);
  return { contentType: mediaType, bytes: Buffer.from(text) };
}

/** Nested values in the bracket form that form-encoded APIs read: `a[b]=1`, arrays as `a[]=1`. */
function formPairs(name: string, value: JsonValue): string[] {
  if (value === null) return [];
  if (Array.isArray(value)) {
    return value.flatMap((each) =>
      formPairs(isRecord(each) || Array.isArray(each) ? `${name}[]` : name, each),
    );
  }
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, each]) => formPairs(`${name}[${key}]`, each));
  }
  return [`${encode(name, name)}=${encode(textOf(value, name), name)}`];
}

function multipart(value: Record<string, JsonValue>, boundary: string): Uint8Array {
  const parts = Object.entries(value)
    .filter(([, each]) => each !== null)
    .map(([name, each]) => {
      const quoted = name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
      const isText = typeof each !== 'object';
      const type = isText ? '' : 'Content-Type: application/json\r\n';
      const body = isText ? String(each) : JSON.stringify(each);
      return `--${boundary}\r\nContent-Disposition: form-data; name="${quoted}"\r\n${type}\r\n${body}\r\n`;
    });
  return Buffer.from(`${parts.join('')}--${boundary}--\r\n`);
}

function isRecord(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
