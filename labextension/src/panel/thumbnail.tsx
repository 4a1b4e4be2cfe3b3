import * as React from 'react';

/** Only these addresses are shown: a picture that the kernel has checked, as part of its answer. */
const PNG = 'data:image/png;base64,';

interface IPicture {
  src: string;
  /** What the picture shows, in words. */
  alt: string;
}

interface IThumbnailProps {
  name: string;
  /** Changes when there may be another picture. */
  run: string;
  /** Asks the kernel for the picture of a result, as JSON; `null` if it has none. */
  picture: (name: string) => Promise<string | null>;
}

/** The first picture of a result, small; nothing without one. */
export function Thumbnail({ name, run, picture }: IThumbnailProps): React.ReactElement | null {
  const [shown, show] = React.useState<IPicture | null>(null);
  React.useEffect(() => {
    let isOver = false;
    const set = (found: IPicture | null): void => {
      if (!isOver) {
        show(found);
      }
    };
    // An older kernel does not know the request.
    picture(name).then(
      told => set(readPicture(told)),
      () => set(null)
    );
    return () => {
      isOver = true;
    };
  }, [name, run]);
  return shown && <img className="jp-AutocodePanel-thumbnail" src={shown.src} alt={shown.alt} />;
}

function readPicture(told: string | null): IPicture | null {
  try {
    const { src, alt } = JSON.parse(told ?? '{}');
    return typeof src === 'string' && src.startsWith(PNG) && typeof alt === 'string' ? { src, alt } : null;
  } catch {
    return null;
  }
}
