/** The ways in which a request body is written. */
export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';

const bodyKindPatterns: readonly (readonly [BodyKind, RegExp])[] = [
  ['json', /^(?:application|text)\/(?:json|[a-z0-9.+-]+\+json)$/],
  ['form', /^application\/x-www-form-urlencoded$/],
  ['multipart', /^multipart\/form-data$/],
  [
    'text',
    /^text\/|^application\/(?:xml|graphql|javascript|sql|toml|(?:x-)?(?:yaml|ndjson))$|\+(?:xml|yaml)$/,
  ],
];

/** A media type that is not a known text type counts as binary; callers give its body as base64. */
export function bodyKindOf(mediaType: string): BodyKind {
  const [essence = ''] = mediaType.split(';');
  const mediaKind = bodyKindPatterns.find(([, pattern]) =>
    pattern.test(essence.trim().toLowerCase()),
  );
  return mediaKind?.[0] ?? 'binary';
}

/**
 * The most base64 characters of one binary body or part: 720,000 bytes, which fits into a request
 * of 1 MiB.
 */
export const base64CharactersMax = 960_000;
