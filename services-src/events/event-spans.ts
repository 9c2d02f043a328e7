import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { Attributes, Link, Span } from '@opentelemetry/api';

import { AppError } from '#errors';
import { continueTrace, findTraceparent, openSpan, startSpan } from '#telemetry';
import { durableConsumers } from '../contracts/events.ts';
import type { DurableConsumerName, Event, StreamName } from '../contracts/events.ts';

/** The event with the active span, if that is sampled. */
export function inActiveTrace(event: Event): Event {
  const traceparent = findTraceparent();
  return traceparent === undefined ? event : { ...event, traceparent };
}

/** Publishes an event inside a span, whose trace the event carries. */
export function publishInSpan(
  stream: StreamName,
  event: Event,
  publish: (event: Event) => Promise<void>,
): Promise<void> {
  const spanOptions = { kind: SpanKind.PRODUCER, attributes: attributesOf('send', stream, event) };
  return startSpan(`send ${stream}`, spanOptions, async (span) => {
    try {
      await publish(inActiveTrace(event));
    } catch (error) {
      failSpan(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/**
 * Handles a batch of events with a span for each that is traced, in the trace that the event
 * carries. The batch is handled once, inside the span of the first; the others link to that one.
 */
export async function handleInSpans<E extends Event>(
  durable: DurableConsumerName,
  events: E[],
  handle: (events: E[]) => Promise<void>,
): Promise<void> {
  const [first, ...others] = events.filter(({ traceparent }) => traceparent !== undefined);
  if (first === undefined) return handle(events);
  const { stream } = durableConsumers[durable];
  const open = (event: Event, links: Link[]) =>
    openSpan(`process ${stream}`, {
      kind: SpanKind.CONSUMER,
      parent: continueTrace(event.traceparent),
      attributes: {
        ...attributesOf('process', stream, event),
        'messaging.consumer.group.name': durable,
      },
      links,
    });
  const firstSpan = open(first, []);
  const links = [{ context: firstSpan.spanContext() }];
  const spans = [firstSpan, ...others.map((event) => open(event, links))];
  try {
    await context.with(trace.setSpan(context.active(), firstSpan), () => handle(events));
  } catch (error) {
    for (const span of spans) failSpan(span, error);
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
}

/** The attributes of a message by OpenTelemetry's conventions for messaging. */
function attributesOf(
  operation: 'send' | 'process',
  stream: StreamName,
  { id }: Event,
): Attributes {
  return {
    'messaging.system': 'nats',
    'messaging.operation.type': operation,
    'messaging.operation.name': operation,
    'messaging.destination.name': stream,
    'messaging.message.id': id,
  };
}

function failSpan(span: Span, error: unknown): void {
  const { code } = AppError.from(error);
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR, message: code });
}
