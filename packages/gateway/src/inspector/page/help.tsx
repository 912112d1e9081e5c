import { TourButton } from './guide/guide.tsx'
import { COMMAND_KEY, isHelpOpen } from './keys.ts'
import { Dialog } from './ui/dialog.tsx'
import { VIEWS } from './views.ts'

/** The keys of the page, and what its words mean. */
export function Help() {
  return (
    <Dialog
      title="Keys and words"
      onClose={() => {
        isHelpOpen.value = false
      }}
    >
      <div class="columns">
        <table>
          <tbody>
            <tr>
              <td>
                <kbd>{COMMAND_KEY}</kbd> <kbd>K</kbd>
              </td>
              <td>Go to a tool, a server or a view</td>
            </tr>
            <tr>
              <td>
                <kbd>/</kbd>
              </td>
              <td>Search</td>
            </tr>
            <tr>
              <td>
                <kbd>?</kbd>
              </td>
              <td>This help</td>
            </tr>
            {VIEWS.map(({ key, title }) => (
              <tr key={key}>
                <td>
                  <kbd>g</kbd> <kbd>{key}</kbd>
                </td>
                <td>{title}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <dl class="stack">
          {WORDS.map(([word, meaning]) => (
            <div key={word}>
              <dt>
                <b>{word}</b>
              </dt>
              <dd class="muted">{meaning}</dd>
            </div>
          ))}
        </dl>
      </div>
      <TourButton
        onOpen={() => {
          isHelpOpen.value = false
        }}
      />
    </Dialog>
  )
}

const WORDS = [
  ['surface', 'The tools that a model is shown in one turn.'],
  ['deferred', 'Not shown until a search finds it and checks it out.'],
  ['activated', 'Checked out by a session: the model knows its definition, and can call it.'],
  ['evicted', 'Returned, because too many were checked out.'],
  ['quarantined', 'Held back: its definition is not the one that was approved.'],
  ['miss', 'A search that found nothing, or a name that does not exist.'],
] as const
