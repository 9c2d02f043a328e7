import { components } from '#contracts/vocabulary';
import { cpuMsOf } from '../support/cpu.ts';
import type { SeparateComponents, Readings } from './components.ts';
import { sendRequest } from './send.ts';
import type { PreparedRequest } from './send.ts';

/**
 * A request may use as much CPU time as the smallest valid request, plus this many times the CPU
 * time of `JSON.parse` for its own bytes.
 *
 * The preview of a call goes through the call's values about 25 times: it decodes, parses, checks,
 * sorts, digests, writes, seals, discloses and outlines them. For thousands of short names, going
 * through them once takes longer than V8's parser, which is already optimized when it is measured.
 */
const parsesMax = 40;
/**
 * The most CPU time that a main thread may use in one turn of its event loop. Other requests wait
 * during a turn.
 */
const turnMsMax = 50;
/**
 * The tolerance for errors of measurement. The clock of CPU time is read twice and has steps of up
 * to 4 ms; garbage collection and timers add to the result.
 */
const slackMs = 8;
/**
 * How often a request that seems too expensive is measured again, without other requests at the
 * same time. The smallest result counts.
 */
const repetitionsMax = 8;

export interface RequestCost {
  readonly status: number;
  readonly text: string;
  /** One sentence for each component that uses more CPU time for the request than allowed. */
  readonly excesses: readonly string[];
}

/**
 * Measures a valid request a few times. Returns the smallest result of each component, because
 * timers and garbage collection only add to a result.
 */
export async function measureSmallestRequest(
  separate: SeparateComponents,
  valid: PreparedRequest,
): Promise<Readings> {
  for (let run = 0; run < 4; run += 1) await sendRequest(valid);
  let leastReadings: Readings | undefined;
  for (let run = 0; run < 5; run += 1) {
    const { readings } = await separate.measure(() => sendRequest(valid));
    leastReadings = minimumOf(leastReadings, readings);
  }
  return leastReadings as Readings;
}

interface RequestCase {
  readonly sendable: PreparedRequest;
  readonly smallest: Readings;
  /** Sends requests of another caller at the same time as the first attempt. */
  readonly sendOthers: () => Promise<unknown>;
}

/**
 * Sends a request at the same time as another caller's requests. If it seems too expensive for a
 * component, sends it a few more times, alone.
 */
export async function measureRequest(
  separate: SeparateComponents,
  { sendable, smallest, sendOthers }: RequestCase,
): Promise<RequestCost> {
  // Parsing is measured only for requests that cost more than the smallest request, because
  // measuring takes time and such requests are few.
  let parsingMs: number | undefined;
  const findExcessesIn = (measured: Readings) => {
    const foundExcesses = findExcesses(measured, smallest, parsingMs ?? 0);
    if (foundExcesses.length === 0 || parsingMs !== undefined) return foundExcesses;
    parsingMs = parsingMsOf(sendable);
    return findExcesses(measured, smallest, parsingMs);
  };
  let { result, readings } = await separate.measure(async () => {
    const [reply] = await Promise.all([sendRequest(sendable), sendOthers()]);
    return reply;
  });
  let excesses = findExcessesIn(readings);
  for (
    let repeatsCount = 0;
    repeatsCount < repetitionsMax && excesses.length > 0;
    repeatsCount += 1
  ) {
    const measured = await separate.measure(() => sendRequest(sendable));
    result = measured.result;
    readings = minimumOf(readings, measured.readings);
    excesses = findExcessesIn(readings);
  }
  return { ...result, excesses };
}

/**
 * The CPU time of parsing the request's bytes as JSON. Bytes in another format are parsed as one
 * JSON string. The function decodes the bytes each time, as a component does: for the same string
 * object again, V8 may need half or twice the time.
 */
function parsingMsOf({ body, url, headers, ...rest }: PreparedRequest): number {
  const isJson = rest.method !== 'GET' && headers['content-type'] === 'application/json';
  const text = isJson ? body : JSON.stringify(`${url}${JSON.stringify(headers)}${body}`);
  const bytes = Buffer.from(text);
  return cpuMsOf(() => JSON.parse(bytes.toString()));
}

function findExcesses(readings: Readings, smallest: Readings, parsingMs: number): string[] {
  return components.flatMap((component) => {
    const { cpuMs, longestMs } = readings[component];
    const allowedMs = smallest[component].cpuMs + parsesMax * parsingMs + slackMs;
    const sentences: string[] = [];
    if (cpuMs > allowedMs) {
      sentences.push(`${component} ${cpuMs.toFixed(1)} ms, ${allowedMs.toFixed(1)} allowed`);
    }
    if (longestMs > turnMsMax) {
      sentences.push(`${component} ${longestMs.toFixed(1)} ms without a turn of its loop`);
    }
    return sentences;
  });
}

function minimumOf(one: Readings | undefined, other: Readings): Readings {
  const entries = components.map((component) => {
    const [a, b] = [one?.[component] ?? other[component], other[component]];
    return [
      component,
      { ...b, cpuMs: Math.min(a.cpuMs, b.cpuMs), longestMs: Math.min(a.longestMs, b.longestMs) },
    ];
  });
  return Object.fromEntries(entries) as Readings;
}
