//! How is it shown? One view model, shown as text or JSON; nothing is computed anew here.
