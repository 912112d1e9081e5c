import { ago } from '../../format.ts'
import { Card } from '../../ui/card.tsx'
import { Show } from '../../ui/state.tsx'
import { useApi } from '../../use-api.ts'
import { downloadQueries, Judge, judged } from './judge.tsx'

/** Searches that found nothing, each with a question that improves the next one. */
export function Misses({
  without,
  onTry,
}: {
  /** The query that is shown above the list. */
  readonly without: string
  readonly onTry: (text: string) => void
}) {
  const loaded = useApi('misses', {}, { after: ['missed'] })
  return (
    <Card
      title="Misses"
      aside={
        judged.value.size > 0 && (
          <button type="button" class="button" onClick={() => downloadQueries(judged.value)}>
            Download {judged.value.size} for “toolcrib eval”
          </button>
        )
      }
    >
      <Show of={loaded}>
        {(all) => {
          const misses = all.filter(({ text }) => text !== without)
          return misses.length === 0 ? (
            <p class="muted">
              {all.length === 0 ? 'None.' : 'No others.'} Searches of your clients that find nothing appear
              here.
            </p>
          ) : (
            <ul class="list" aria-label="Searches and names from your clients that matched no tool">
              {misses.map(({ text, what, times, at, by }) => (
                <li key={text}>
                  <div class="row spread">
                    <span class="wrap roomy">
                      <button type="button" class="link" onClick={() => onTry(text)}>
                        {text}
                      </button>{' '}
                      <span class="small muted">
                        {what === 'name' ? 'a name that does not exist' : 'no match'} ·{' '}
                        {by.length > 0 && `${by.map(nameOf).join(', ')} · `}
                        {times > 1 && `${times} times, `}
                        {ago(at)}
                      </span>
                    </span>
                    <Judge text={text} onTry={() => onTry(text)} />
                  </div>
                </li>
              ))}
            </ul>
          )
        }}
      </Show>
    </Card>
  )
}

function nameOf({ client, profile }: { readonly client: string | null; readonly profile: string | null }) {
  if (profile === null) return client
  return client === null ? `profile ${profile}` : `${client} with the profile ${profile}`
}
