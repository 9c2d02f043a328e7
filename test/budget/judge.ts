import { components } from '#contracts/vocabulary';
import { cpuMsOf } from '../support/cpu.ts';
import type { Apart, Readings } from './components.ts';
import { send } from './send.ts';
import type { Sendable } from './send.ts';

/** Times `JSON.parse` of the same bytes, on top of the smallest request. */
const parsesMax = 20;
/** CPU time that no main thread may use without a turn of its loop. */
const longestMsMax = 50;
/** What the clock of CPU time (steps of up to 4 ms), collected garbage and timers add to a measurement. */
const slackMs = 5;
/** How often what looks dear is measured again, alone: the least of them counts. */
const againMax = 8;

export interface Judged {
  readonly status: number;
  readonly text: string;
  /** A sentence for each component that it costs too much. */
  readonly dear: readonly string[];
}

/** The least of a few, of each component: timers and garbage of others only add. */
export async function smallestOf(apart: Apart, valid: Sendable): Promise<Readings> {
  for (let run = 0; run < 4; run += 1) await send(valid);
  let least: Readings | undefined;
  for (let run = 0; run < 5; run += 1) {
    const { readings } = await apart.measure(() => send(valid));
    least = leastOf(least, readings);
  }
  return least as Readings;
}

interface Case {
  readonly asked: Sendable;
  readonly smallest: Readings;
  /** What others ask meanwhile, the first time. */
  readonly beside: () => Promise<unknown>;
}

/** Sends a request beside others; if it seems too dear to any component, a few times alone. */
export async function judge(apart: Apart, { asked, smallest, beside }: Case): Promise<Judged> {
  // Measured where it matters: most requests cost hardly more than the smallest.
  let parsing: number | undefined;
  const dearIn = (measured: Readings) => {
    const seen = tooDear(measured, smallest, parsing ?? 0);
    if (seen.length === 0 || parsing !== undefined) return seen;
    parsing = parsingMsOf(asked);
    return tooDear(measured, smallest, parsing);
  };
  let { result, readings } = await apart.measure(async () => {
    const [answered] = await Promise.all([send(asked), beside()]);
    return answered;
  });
  let dear = dearIn(readings);
  for (let again = 0; again < againMax && dear.length > 0; again += 1) {
    const measured = await apart.measure(() => send(asked));
    result = measured.result;
    readings = leastOf(readings, measured.readings);
    dear = dearIn(readings);
  }
  return { ...result, dear };
}

/**
 * Of the same bytes: those that are no JSON as a text of JSON. From bytes, as a component reads them; a
 * text that was parsed before takes half as long, or twice.
 */
function parsingMsOf({ body, url, headers, ...rest }: Sendable): number {
  const isJson = rest.method !== 'GET' && headers['content-type'] === 'application/json';
  const text = isJson ? body : JSON.stringify(`${url}${JSON.stringify(headers)}${body}`);
  const bytes = Buffer.from(text);
  return cpuMsOf(() => JSON.parse(bytes.toString()));
}

function tooDear(readings: Readings, smallest: Readings, parsing: number): string[] {
  return components.flatMap((component) => {
    const { cpuMs, longestMs } = readings[component];
    const allowed = smallest[component].cpuMs + parsesMax * parsing + slackMs;
    const sentences: string[] = [];
    if (cpuMs > allowed) {
      sentences.push(`${component} ${cpuMs.toFixed(1)} ms, ${allowed.toFixed(1)} allowed`);
    }
    if (longestMs > longestMsMax) {
      sentences.push(`${component} ${longestMs.toFixed(1)} ms without a turn of its loop`);
    }
    return sentences;
  });
}

function leastOf(one: Readings | undefined, other: Readings): Readings {
  const entries = components.map((component) => {
    const [a, b] = [one?.[component] ?? other[component], other[component]];
    return [
      component,
      { ...b, cpuMs: Math.min(a.cpuMs, b.cpuMs), longestMs: Math.min(a.longestMs, b.longestMs) },
    ];
  });
  return Object.fromEntries(entries) as Readings;
}
