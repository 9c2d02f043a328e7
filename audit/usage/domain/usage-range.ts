import { usageDaysMax, usageHourDaysMax } from '#contracts/http/audit';
import type { UsageBucket } from '#contracts/http/audit';
import { AppError } from '#errors';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface UsageRange {
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
}

/**
 * The range of a request, widened to whole hours because calls are counted by the hour. Without
 * `to` it ends now. Without `from` it begins a day earlier (hours) or 30 days earlier (days).
 */
export function usageRangeOf(
  { from, to, bucket }: { from?: string | undefined; to?: string | undefined; bucket: UsageBucket },
  now: Date,
): UsageRange {
  const toMs = to === undefined ? now.getTime() : Date.parse(to);
  const defaultMs = (bucket === 'hour' ? 1 : 30) * dayMs;
  const fromMs = from === undefined ? toMs - defaultMs : Date.parse(from);
  if (fromMs >= toMs) throw rangeError('`from` must be before `to`.', 'from');
  // An additional hour is accepted, because the request took time and clocks differ.
  if (fromMs < now.getTime() - usageDaysMax * dayMs - hourMs) {
    const earliest = new Date(now.getTime() - usageDaysMax * dayMs).toISOString();
    throw rangeError(
      `Counts are kept for ${usageDaysMax} days; ask from ${earliest} on. \`GET /v1/audit\` has the records themselves.`,
      'from',
    );
  }
  if (toMs > now.getTime() + dayMs) throw rangeError('`to` must not be in the future.', 'to');
  if (bucket === 'hour' && toMs - fromMs > usageHourDaysMax * dayMs) {
    throw rangeError(
      `\`bucket=hour\` covers at most ${usageHourDaysMax} days; ask for less, or with \`bucket=day\`.`,
      'bucket',
    );
  }
  return {
    from: new Date(Math.floor(fromMs / hourMs) * hourMs),
    to: new Date(Math.ceil(toMs / hourMs) * hourMs),
  };
}

function rangeError(message: string, field: string): AppError {
  return new AppError('invalid_request', message, { details: { field } });
}
