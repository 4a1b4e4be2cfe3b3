import builtIn from './vocabulary.json';

/** An option of `%%autocode`. */
export interface IOption {
  name: string;
  flags: string[];
  takes_value: boolean;
  choices: string[];
  placeholder: string;
  help: string;
  repeatable: boolean;
  /** Whether it is a former spelling: it is read, and not offered.*/
  former: boolean;
}

/** A subcommand of `%autocode`. */
export interface ISubcommand {
  name: string;
  usage: string;
  help: string;
  takes_name: boolean;
  flags: string[];
}

/** All options, types and subcommands. Generated from the Python code by `tools/generated.py`. */
export interface IVocabulary {
  options: IOption[];
  /** Types of outputs. */
  types: string[];
  input_types: string[];
  subcommands: ISubcommand[];
  /** Names of all settings, and of those on the settings page of JupyterLab; older kernels do not send the latter. */
  settings: string[];
  page?: string[];
}

/** The vocabulary of the version that this extension was built with. */
export const VOCABULARY: IVocabulary = builtIn;
