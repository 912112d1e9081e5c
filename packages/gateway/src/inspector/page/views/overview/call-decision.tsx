import { useState } from 'preact/hooks'
import type { Input } from '../../../api/routes.ts'
import type { Decision } from '../../../api/waiting.ts'
import { tell } from '../../api-client.ts'
import { JsonTree } from '../../ui/json-tree.tsx'

const ANSWERS: readonly (readonly [Input<'decide-call'>['answer'], name: string, title: string])[] = [
  ['once', 'Allow once', 'This call, with these arguments'],
  ['session', 'Allow in this session', 'Every call of this tool, until an hour after the last one'],
  ['always', 'Always allow', 'Every call of this tool, until its definition changes'],
  ['deny', 'Refuse', 'Nothing is run, and the model is told so'],
]

/** A call that waits: what would run, and the buttons that settle it. */
export function CallDecision({ call }: { readonly call: NonNullable<Decision['call']> }) {
  const [outcome, setOutcome] = useState('')
  const decide = (answer: Input<'decide-call'>['answer'], name: string) =>
    tell('decide-call', { id: call.id, answer }).then(
      () => setOutcome(`${name}: done.`),
      (error: Error) => setOutcome(error.message),
    )
  return (
    <>
      <JsonTree value={call.args} />
      {outcome === '' ? (
        <div class="row">
          {ANSWERS.map(([answer, name, title]) => (
            <button
              key={answer}
              type="button"
              class={`button small ${answer === 'once' ? 'primary' : answer === 'deny' ? 'danger' : ''}`}
              aria-label={`${name}: ${call.tool}, ${call.id}`}
              title={title}
              onClick={() => decide(answer, name)}
            >
              {name}
            </button>
          ))}
        </div>
      ) : (
        <p class="small" role="status">
          {outcome}
        </p>
      )}
    </>
  )
}
