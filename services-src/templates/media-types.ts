/** How a body of a media type is written. */
export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';

const kinds: readonly (readonly [BodyKind, RegExp])[] = [
  ['json', /^(?:application|text)\/(?:json|[a-z0-9.+-]+\+json)$/],
  ['form', /^application\/x-www-form-urlencoded$/],
  ['multipart', /^multipart\/form-data$/],
  [
    'text',
    /^text\/|^application\/(?:xml|graphql|javascript|sql|toml|(?:x-)?(?:yaml|ndjson))$|\+(?:xml|yaml)$/,
  ],
];

/** Whatever is no text we know of is bytes, which callers give as base64. */
export function bodyKindOf(mediaType: string): BodyKind {
  const [essence = ''] = mediaType.split(';');
  const found = kinds.find(([, pattern]) => pattern.test(essence.trim().toLowerCase()));
  return found?.[0] ?? 'binary';
}

/** Most base64 characters of one binary body or part: 720,000 bytes, inside the 1 MiB of a request to us. */
export const base64CharactersMax = 960_000;
