import type { TemplateDetail } from '#contracts/http/templates';

/**
 * Whether this is the notice board that `npm start` runs (docs/operating.md#the-sample-service).
 */
export function isSampleTemplate({ key, tier }: Pick<TemplateDetail, 'key' | 'tier'>): boolean {
  return key === 'sample' && tier === 'global';
}

/**
 * A new key for the notice board. The board accepts any key of this form, so a person does not have
 * to get one from anywhere.
 */
export function createSampleKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return `nb_${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
