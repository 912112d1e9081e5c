import fc from 'fast-check'
import { expect } from 'vitest'
import { fuzz } from '../../../../test/fuzz.ts'
import { isRecord } from '../json.ts'
import { changed, changes, SPEAKERS, TURN, use } from './speakers.fixture.ts'

fuzz(
  'any stream and any response give a history that pairs calls with results',
  fc.tuple(fc.constantFrom(...SPEAKERS), changes),
  ([[name, { dialect, stream, respond }], given]) => {
    const reader = dialect.openStream()
    const events = changed(stream(TURN), given)
    for (const event of Array.isArray(events) ? events : []) expect(typeof reader.add(event)).toBe('string')
    use(dialect, reader.response())
    const response = changed(respond(TURN), given)
    // The AI SDK parses a provider's response itself and passes on only well-formed ones.
    if (name !== 'ai-sdk' && isRecord(response)) use(dialect, response)
  },
)
